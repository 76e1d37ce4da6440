function make(kind, name, text) {
  const element = document.createElement(kind);
  if (name) element.className = name;
  if (text) element.textContent = text;
  return element;
}

function button(name, text, focus, act) {
  const made = make('button', name, text);
  made.type = 'button';
  made.dataset.focus = focus;
  made.onclick = act;
  return made;
}

// A function, since a name may hold what `replace` reads as a pattern.
function named(words, name) {
  return words.replace('{name}', () => name);
}

function hidden(kind, name, text) {
  const made = make(kind, name, text);
  made.setAttribute('aria-hidden', 'true');
  return made;
}

const states = new WeakMap();

// A column that is partly behind the frozen names looks cut off there, not empty.
function markScrolled(box) {
  const mark = () => box.classList.toggle('scrolled', box.scrollLeft > 0);
  box.onscroll = mark;
  mark();
}

// The cell in the panel, which makes the table narrower, is not left behind its edge or its frozen names.
function keepInSight(state, cell) {
  state.sight?.disconnect();
  const key = cell?.dataset.focus || '';
  if (!cell || key === state.seen) return;
  const box = cell.closest('.scroll');
  const look = () => {
    state.seen = key;
    const [at, around] = [cell.getBoundingClientRect(), box.getBoundingClientRect()];
    const left = around.left + box.querySelector('th.name').offsetWidth;
    if (at.left < left) box.scrollLeft += at.left - left;
    else if (at.right > around.right) box.scrollLeft += Math.min(at.right - around.right, at.left - left);
  };
  state.sight = new ResizeObserver(look);
  state.sight.observe(box);
}

export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  const state = states.get(parentElement)
    || { version: -1, chosen: new Set(), lines: new Map(), current: '' };
  states.set(parentElement, state);
  if (state.version !== data.version) {
    state.version = data.version;
    state.chosen = new Set(data.selected);
  }
  const table = parentElement.querySelector('table'), scroll = parentElement.querySelector('.scroll');
  const head = table.querySelector('thead tr'), said = parentElement.querySelector('[role=status]');
  table.querySelector('caption').textContent = data.words.caption;
  scroll.setAttribute('aria-label', data.words.scrolls);
  const root = parentElement.getRootNode();
  const focused = (root.activeElement || document.activeElement)?.dataset?.focus;

  function pick(id, event) {
    state.chosen[event.target.checked ? 'add' : 'delete'](id);
    event.target.closest('tr').classList.toggle('chosen', event.target.checked);
    const number = state.chosen.size;
    said.textContent = number === 1 ? data.words.one : data.words.selected.replace('{number}', number);
    setStateValue('selected', [...state.chosen]);
  }

  function heading(column) {
    const cell = make('th', [column.id ? '' : 'name', column.wide ? 'wide' : '', column.right ? 'right' : ''].filter(Boolean).join(' '));
    const on = data.sort.column === column.id;
    cell.scope = 'col';
    cell.append(button('', column.name, `by-${column.id}`, () => setTriggerValue('ordered', column.id)));
    if (on) cell.firstChild.append(hidden('span', 'order', data.sort.descending ? '↓' : '↑'));
    if (on) cell.setAttribute('aria-sort', data.sort.descending ? 'descending' : 'ascending');
    return cell;
  }

  function line(row) {
    const made = make('tr'), name = make('th', 'name'), around = make('label'), input = make('input');
    made.dataset.id = row.id;
    name.scope = 'row';
    input.type = 'checkbox';
    input.dataset.focus = `pick-${row.id}`;
    input.setAttribute('aria-label', named(data.words.select, row.name));
    input.onclick = (event) => pick(row.id, event);
    around.append(input);
    const inside = make('div', 'document');
    inside.append(around, button('open', row.name, `document-${row.id}`, () => setTriggerValue('document', row.id)));
    name.append(inside);
    if (row.note) name.append(make('span', 'note', row.note));
    made.append(name, ...row.cells.map((cell) => {
      const box = make('td', cell.right ? 'right' : '');
      const way = button(`cell ${cell.mark}`, '', `cell-${cell.id}`, () => setTriggerValue('opened', cell.id));
      way.setAttribute('aria-label', cell.words);
      way.title = cell.words;
      way.append(hidden('span', 'sign', cell.sign), make('span', 'value', cell.text));
      for (const flag of cell.flags) way.append(make('span', 'flag', flag));
      box.append(way);
      return box;
    }));
    return made;
  }

  // A row that has not changed stays the same element, so that a press on it while others are read counts.
  function kept(row) {
    const json = JSON.stringify(row), before = state.lines.get(row.id);
    const same = before && before.json === json;
    const element = same ? before.element : line(row);
    state.lines.set(row.id, { json, element });
    return element;
  }

  head.replaceChildren(...data.columns.map(heading));
  const shown = new Set();
  const bodies = data.groups.map((group) => {
    const body = make('tbody');
    if (group.name) {
      const over = make('tr', 'group'), title = make('th', '');
      title.scope = 'rowgroup';
      title.colSpan = data.columns.length;
      title.append(make('span', '', group.name));
      over.append(title);
      body.append(over);
    }
    for (const row of group.rows) {
      shown.add(row.id);
      body.append(kept(row));
    }
    return body;
  });
  for (const id of state.lines.keys()) if (!shown.has(id)) state.lines.delete(id);
  table.querySelectorAll('tbody').forEach((body) => body.remove());
  table.append(...bodies);

  for (const each of table.querySelectorAll('tbody tr[data-id]')) {
    const on = state.chosen.has(each.dataset.id);
    each.classList.toggle('chosen', on);
    each.querySelector('input').checked = on;
  }
  for (const each of table.querySelectorAll('button.cell')) {
    const on = each.dataset.focus === `cell-${data.opened}`;
    each.classList.toggle('opened', on);
    if (on) each.setAttribute('aria-current', 'true'); else each.removeAttribute('aria-current');
  }

  keepInSight(state, table.querySelector('button.opened'));
  markScrolled(scroll);

  // One stop of Tab for the whole table; the arrow keys move inside of it.
  const rows = [...table.querySelectorAll('tr[data-id]')].map((one) => [...one.querySelectorAll('input, button')]);
  const all = rows.flat();

  function stop(at) {
    for (const each of all) each.tabIndex = each === at ? 0 : -1;
    state.current = at?.dataset.focus || '';
  }

  stop(all.find((each) => each.dataset.focus === state.current) || rows[0]?.[2] || rows[0]?.[1]);
  if (focused) parentElement.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });

  table.onfocusin = (event) => { if (all.includes(event.target)) stop(event.target); };
  table.onkeydown = (event) => {
    const down = rows.findIndex((row) => row.includes(event.target));
    if (down < 0) return;
    const across = rows[down].indexOf(event.target);
    const to = {
      ArrowDown: [down + 1, across], ArrowUp: [down - 1, across], ArrowRight: [down, across + 1],
      ArrowLeft: [down, across - 1], Home: [down, 0], End: [down, rows[down].length - 1],
    }[event.key];
    if (!to) return;
    event.preventDefault();
    const next = rows[to[0]]?.[to[1]];
    if (next) next.focus();
  };
}
