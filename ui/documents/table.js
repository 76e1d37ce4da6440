const SIGNS = { good: '✓', busy: '…', bad: '!', calm: '·' };

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

function box(name, focus, on, act) {
  const cell = make('td', 'pick'), around = make('label'), input = make('input');
  input.type = 'checkbox';
  input.checked = on;
  input.dataset.focus = focus;
  input.setAttribute('aria-label', name);
  input.onclick = act;
  around.append(input);
  cell.append(around);
  return cell;
}

// A function, since a name may hold what `replace` reads as a pattern.
function named(words, name) {
  return words.replace('{name}', () => name);
}

// What helps with a file that could not be read, named after it.
function helping(kind, row, words, act) {
  const made = button('again', words[kind], `${kind}-${row.id}`, act);
  made.setAttribute('aria-label', named(words[`${kind}_with`], row.name));
  return made;
}

const states = new WeakMap();

export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  const state = states.get(parentElement) || { version: -1, chosen: new Set(), last: -1 };
  states.set(parentElement, state);
  if (state.version !== data.version) {
    state.version = data.version;
    state.chosen = new Set(data.selected);
  }
  const head = parentElement.querySelector('thead tr'), body = parentElement.querySelector('tbody');
  const said = parentElement.querySelector('[role=status]');
  parentElement.querySelector('caption').textContent = data.words.caption;
  const root = parentElement.getRootNode();
  const focused = (root.activeElement || document.activeElement)?.dataset?.focus;

  function tell() {
    const number = state.chosen.size;
    const words = number === 1 ? data.words.one : data.words.selected.replace('{number}', number);
    if (said.textContent !== words) said.textContent = words;
  }

  function send() {
    mark();
    tell();
    // With the version: Streamlit takes no value that equals the one told before, and the page may have
    // changed the selection since.
    setStateValue('selected', { ids: [...state.chosen], version: data.version });
  }

  function pick(at, event) {
    const on = event.target.checked;
    const from = event.shiftKey && state.last >= 0 ? Math.min(state.last, at) : at;
    const to = event.shiftKey && state.last >= 0 ? Math.max(state.last, at) : at;
    for (const row of data.rows.slice(from, to + 1)) state.chosen[on ? 'add' : 'delete'](row.id);
    state.last = at;
    send();
  }

  function pickAll(event) {
    for (const row of data.rows) state.chosen[event.target.checked ? 'add' : 'delete'](row.id);
    send();
  }

  function mark() {
    const here = data.rows.filter((row) => state.chosen.has(row.id)).length;
    const all = head.querySelector('input');
    all.checked = here > 0 && here === data.rows.length;
    all.indeterminate = here > 0 && here < data.rows.length;
    body.querySelectorAll('tr').forEach((line) => {
      const on = state.chosen.has(line.dataset.id);
      line.classList.toggle('chosen', on);
      line.querySelector('input').checked = on;
    });
  }

  const first = make('th', 'pick');
  first.append(...box(data.words.all, 'all', false, pickAll).childNodes);
  head.replaceChildren(first, ...Object.entries(data.columns).map(([id, name]) => {
    const cell = make('th', id), on = data.order.column === id;
    cell.scope = 'col';
    const sign = on ? (data.order.descending ? ' ↓' : ' ↑') : '';
    cell.append(button('', name + sign, `by-${id}`, () => setTriggerValue('ordered', id)));
    cell.firstChild.setAttribute('aria-label', name);
    if (on) cell.setAttribute('aria-sort', data.order.descending ? 'descending' : 'ascending');
    return cell;
  }));

  body.replaceChildren(...data.rows.map((row, at) => {
    const line = make('tr');
    line.dataset.id = row.id;
    line.append(box(named(data.words.select, row.name), `pick-${row.id}`, false, (event) => pick(at, event)));
    const name = make('td', 'name');
    name.append(button('open', row.name, `open-${row.id}`, () => setTriggerValue('opened', row.id)));
    const meta = [row.status, row.collection, ...row.tags, row.added].filter(Boolean).join(' · ');
    name.append(make('span', 'meta', meta));
    if (row.note) name.append(make('span', 'note', row.note));
    if (row.origin) name.append(make('span', 'note', row.origin));
    if (row.retry) name.append(helping('again', row, data.words, () => setTriggerValue('retried', row.id)));
    if (row.final) name.append(helping('delete', row, data.words, () => setTriggerValue('deleted', row.id)));
    const status = make('td', 'status');
    const sign = make('span', 'sign', SIGNS[row.tone]);
    sign.setAttribute('aria-hidden', 'true');
    status.append(sign, row.status);
    const tags = make('td', 'tags');
    tags.append(...row.tags.map((tag) => make('span', 'tag', tag)));
    line.append(
      name, make('td', 'kind', row.kind), make('td', 'added', row.added), make('td', 'pages', row.pages),
      make('td', 'collection', row.collection), tags, status,
    );
    return line;
  }));
  mark();
  if (focused) parentElement.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus();

  // Up and down go to the same thing in the next row.
  parentElement.onkeydown = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const line = event.target.closest?.('tbody tr');
    if (!step || !line) return;
    const lines = [...body.children], next = lines[lines.indexOf(line) + step];
    const kind = event.target.dataset.focus.split('-')[0];
    const there = next?.querySelector(`[data-focus^="${kind}-"]`);
    if (there) { event.preventDefault(); there.focus(); }
  };
}
