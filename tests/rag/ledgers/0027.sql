BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0027');
CREATE TABLE api_keys (
	id TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	name TEXT NOT NULL, 
	sha256 TEXT NOT NULL, 
	scopes JSON NOT NULL, 
	collections JSON, 
	created DATETIME NOT NULL, 
	expires DATETIME, 
	used DATETIME, 
	CONSTRAINT pk_api_keys PRIMARY KEY (id), 
	CONSTRAINT fk_api_keys_owner FOREIGN KEY(owner) REFERENCES users (id) ON DELETE CASCADE
);
CREATE TABLE audit_log (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	at DATETIME NOT NULL, 
	owner TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	detail JSON NOT NULL
);
CREATE TABLE choices (
	conversation_id TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	chosen_id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	CONSTRAINT pk_choices PRIMARY KEY (conversation_id, kind, chosen_id), 
	CONSTRAINT fk_choices_conversation_id FOREIGN KEY(conversation_id) REFERENCES conversations (id) ON DELETE CASCADE
);
CREATE TABLE chunks (
	id TEXT NOT NULL, 
	document_id TEXT NOT NULL, 
	position INTEGER NOT NULL, 
	start INTEGER NOT NULL, 
	"end" INTEGER NOT NULL, 
	page INTEGER, 
	heading TEXT NOT NULL, 
	text TEXT NOT NULL, 
	CONSTRAINT pk_chunks PRIMARY KEY (id), 
	CONSTRAINT fk_chunks_document_id FOREIGN KEY(document_id) REFERENCES documents (id) ON DELETE CASCADE
);
INSERT INTO "chunks" VALUES('9d577d48606d70d4-00000','9d577d48606d70d4',0,0,82,NULL,'Castle','# Castle

The castle of Aldenburg was built in 1432. Its moat is nine metres deep.');
INSERT INTO "chunks" VALUES('33f7eff8cfb41c39-00000','33f7eff8cfb41c39',0,0,39,NULL,'등대','# 등대

등대지기는 해질녘에 등불을 켰다. 등불은 고래기름으로 탔다.');
CREATE TABLE citations (
	message_id TEXT NOT NULL, 
	position INTEGER NOT NULL, 
	marker INTEGER NOT NULL, 
	answer_start INTEGER NOT NULL, 
	answer_end INTEGER NOT NULL, 
	status TEXT NOT NULL, 
	quote_start INTEGER NOT NULL, 
	quote_end INTEGER NOT NULL, 
	quote TEXT NOT NULL, feedback TEXT, note TEXT DEFAULT '' NOT NULL, 
	CONSTRAINT pk_citations PRIMARY KEY (message_id, position), 
	CONSTRAINT fk_citations_message_id FOREIGN KEY(message_id) REFERENCES messages (id) ON DELETE CASCADE
);
INSERT INTO "citations" VALUES('c09be75337f078b4',0,1,0,80,'verified',10,82,'The castle of Aldenburg was built in 1432. Its moat is nine metres deep.',NULL,'');
INSERT INTO "citations" VALUES('5bc291b231b24000',0,1,29,66,'verified',6,39,'등대지기는 해질녘에 등불을 켰다. 등불은 고래기름으로 탔다.',NULL,'');
INSERT INTO "citations" VALUES('5bc291b231b24000',1,2,68,101,'verified',53,82,'Its moat is nine metres deep.',NULL,'');
CREATE TABLE collections (
	id TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	name TEXT NOT NULL, 
	folded TEXT NOT NULL, 
	splitting JSON, 
	created DATETIME NOT NULL, instructions TEXT DEFAULT '' NOT NULL, 
	CONSTRAINT pk_collections PRIMARY KEY (id), 
	CONSTRAINT fk_collections_owner FOREIGN KEY(owner) REFERENCES users (id) ON DELETE CASCADE
);
CREATE TABLE conversations (
	id TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	title TEXT NOT NULL, 
	folded TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	updated DATETIME NOT NULL, tip_id TEXT, 
	CONSTRAINT pk_conversations PRIMARY KEY (id), 
	CONSTRAINT fk_conversations_owner FOREIGN KEY(owner) REFERENCES users (id) ON DELETE CASCADE
);
INSERT INTO "conversations" VALUES('06790179a0a7d745','ann','How deep is the moat of the castle?','how deep is the moat of the castle?','2026-11-27 19:22:01.928453','2026-11-27 19:22:02.605723','5bc291b231b24000');
CREATE TABLE departures (
	id TEXT NOT NULL, 
	at DATETIME NOT NULL, 
	CONSTRAINT pk_departures PRIMARY KEY (id)
);
CREATE TABLE document_facts (
	document_id TEXT NOT NULL, 
	facts JSON NOT NULL, 
	CONSTRAINT pk_document_facts PRIMARY KEY (document_id), 
	CONSTRAINT fk_document_facts_document_id FOREIGN KEY(document_id) REFERENCES documents (id) ON DELETE CASCADE
);
INSERT INTO "document_facts" VALUES('9d577d48606d70d4','[["title", "Castle", 2, 8, ""], ["language", "en", null, null, ""]]');
INSERT INTO "document_facts" VALUES('33f7eff8cfb41c39','[["title", "\ub4f1\ub300", 2, 4, ""], ["language", "ko", null, null, ""]]');
CREATE TABLE document_tags (
	document_id TEXT NOT NULL, 
	tag_id TEXT NOT NULL, 
	CONSTRAINT pk_document_tags PRIMARY KEY (document_id, tag_id), 
	CONSTRAINT fk_document_tags_document_id FOREIGN KEY(document_id) REFERENCES documents (id) ON DELETE CASCADE, 
	CONSTRAINT fk_document_tags_tag_id FOREIGN KEY(tag_id) REFERENCES tags (id) ON DELETE CASCADE
);
CREATE TABLE document_texts (
	document_id TEXT NOT NULL, 
	text TEXT NOT NULL, 
	CONSTRAINT pk_document_texts PRIMARY KEY (document_id), 
	CONSTRAINT fk_document_texts_document_id FOREIGN KEY(document_id) REFERENCES documents (id) ON DELETE CASCADE
);
INSERT INTO "document_texts" VALUES('9d577d48606d70d4','# Castle

The castle of Aldenburg was built in 1432. Its moat is nine metres deep.');
INSERT INTO "document_texts" VALUES('33f7eff8cfb41c39','# 등대

등대지기는 해질녘에 등불을 켰다. 등불은 고래기름으로 탔다.');
CREATE TABLE documents (
	id TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	name TEXT NOT NULL, 
	sha256 TEXT NOT NULL, 
	size INTEGER NOT NULL, 
	state TEXT NOT NULL, 
	reason TEXT, 
	page_count INTEGER, 
	chunk_count INTEGER NOT NULL, 
	replaces TEXT, 
	created DATETIME NOT NULL, 
	updated DATETIME NOT NULL, url TEXT, uploaded BOOLEAN DEFAULT 1 NOT NULL, collection_id TEXT, edition TEXT DEFAULT '' NOT NULL, note TEXT, 
	CONSTRAINT pk_documents PRIMARY KEY (id), 
	CONSTRAINT fk_documents_owner FOREIGN KEY(owner) REFERENCES users (id) ON DELETE CASCADE, 
	CONSTRAINT fk_documents_replaces FOREIGN KEY(replaces) REFERENCES documents (id) ON DELETE SET NULL
);
INSERT INTO "documents" VALUES('9d577d48606d70d4','ann','castle.md','dec71aad8b5061eebf513748d5bc89a9b2d4c9d0e82793a2ea4a6928c00fa8b1',83,'ready',NULL,NULL,1,NULL,'2026-11-27 19:21:57.398219','2026-11-27 19:22:01.104094',NULL,1,NULL,'',NULL);
INSERT INTO "documents" VALUES('33f7eff8cfb41c39','ann','등대.md','4a9b598aa163d588f75c6c270106737b5e3b39854a6d105e73fffd1dc611c26b',94,'ready',NULL,NULL,1,NULL,'2026-11-27 19:22:01.117118','2026-11-27 19:22:01.499089',NULL,1,NULL,'',NULL);
CREATE TABLE figure_readings (
	document_id TEXT NOT NULL, 
	state TEXT NOT NULL, 
	again BOOLEAN NOT NULL, 
	note TEXT, 
	updated DATETIME NOT NULL, 
	CONSTRAINT pk_figure_readings PRIMARY KEY (document_id), 
	CONSTRAINT fk_figure_readings_document_id FOREIGN KEY(document_id) REFERENCES documents (id) ON DELETE CASCADE
);
CREATE TABLE figures (
	id TEXT NOT NULL, 
	document_id TEXT NOT NULL, 
	number INTEGER NOT NULL, 
	page INTEGER, 
	label TEXT NOT NULL, 
	occurrence INTEGER NOT NULL, 
	start INTEGER NOT NULL, 
	"end" INTEGER NOT NULL, 
	text TEXT NOT NULL, 
	model TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	CONSTRAINT pk_figures PRIMARY KEY (id), 
	CONSTRAINT fk_figures_document_id FOREIGN KEY(document_id) REFERENCES documents (id) ON DELETE CASCADE
);
CREATE TABLE grid_cells (
	grid_id TEXT NOT NULL, 
	document_id TEXT NOT NULL, 
	column_id TEXT NOT NULL, 
	state TEXT, 
	value JSON, 
	quotes JSON NOT NULL, 
	read INTEGER NOT NULL, 
	total INTEGER NOT NULL, 
	calculated BOOLEAN NOT NULL, 
	note TEXT NOT NULL, 
	basis TEXT NOT NULL, 
	seconds DOUBLE NOT NULL, 
	requests INTEGER NOT NULL, 
	corrected JSON, 
	locked BOOLEAN NOT NULL, 
	updated DATETIME NOT NULL, only_searched BOOLEAN DEFAULT 0 NOT NULL, 
	CONSTRAINT pk_grid_cells PRIMARY KEY (grid_id, document_id, column_id), 
	CONSTRAINT fk_grid_cells_grid_id FOREIGN KEY(grid_id) REFERENCES grids (id) ON DELETE CASCADE, 
	CONSTRAINT fk_grid_cells_document_id FOREIGN KEY(document_id) REFERENCES documents (id) ON DELETE CASCADE
);
CREATE TABLE grid_choices (
	grid_id TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	chosen_id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	CONSTRAINT pk_grid_choices PRIMARY KEY (grid_id, kind, chosen_id), 
	CONSTRAINT fk_grid_choices_grid_id FOREIGN KEY(grid_id) REFERENCES grids (id) ON DELETE CASCADE
);
CREATE TABLE grids (
	id TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	name TEXT NOT NULL, 
	columns JSON NOT NULL, 
	run_begun DATETIME, 
	run_note TEXT, 
	created DATETIME NOT NULL, 
	updated DATETIME NOT NULL, 
	CONSTRAINT pk_grids PRIMARY KEY (id), 
	CONSTRAINT fk_grids_owner FOREIGN KEY(owner) REFERENCES users (id) ON DELETE CASCADE
);
CREATE TABLE idempotent_requests (
	owner TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	request TEXT NOT NULL, 
	response JSON NOT NULL, 
	created DATETIME NOT NULL, 
	CONSTRAINT pk_idempotent_requests PRIMARY KEY (owner, "key"), 
	CONSTRAINT fk_idempotent_requests_owner FOREIGN KEY(owner) REFERENCES users (id) ON DELETE CASCADE
);
CREATE TABLE index_states (
	owner TEXT NOT NULL, 
	name TEXT NOT NULL, 
	state JSON NOT NULL, 
	CONSTRAINT pk_index_states PRIMARY KEY (owner, name), 
	CONSTRAINT fk_index_states_owner FOREIGN KEY(owner) REFERENCES users (id) ON DELETE CASCADE
);
INSERT INTO "index_states" VALUES('ann','vectors','{"model": "multilingual-e5-small", "dimension": 384, "fingerprint": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f", "store": "chroma", "spec": "multilingual-e5-small", "folder": "vectors-a3bacbc6"}');
CREATE TABLE jobs (
	id TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	state TEXT NOT NULL, 
	attempt INTEGER NOT NULL, 
	worker TEXT, 
	leased_until DATETIME, 
	run_at DATETIME NOT NULL, 
	progress JSON, 
	stop BOOLEAN NOT NULL, 
	CONSTRAINT pk_jobs PRIMARY KEY (id), 
	CONSTRAINT fk_jobs_owner FOREIGN KEY(owner) REFERENCES users (id) ON DELETE CASCADE
);
CREATE TABLE lab_asked (
	run_id TEXT NOT NULL, 
	position INTEGER NOT NULL, 
	question_id TEXT NOT NULL, 
	text TEXT NOT NULL, 
	status TEXT NOT NULL, 
	right_ids JSON NOT NULL, 
	CONSTRAINT pk_lab_asked PRIMARY KEY (run_id, position), 
	CONSTRAINT fk_lab_asked_run_id FOREIGN KEY(run_id) REFERENCES lab_runs (id) ON DELETE CASCADE
);
CREATE TABLE lab_findings (
	run_id TEXT NOT NULL, 
	position INTEGER NOT NULL, 
	retriever TEXT NOT NULL, 
	found JSON NOT NULL, 
	first_right INTEGER, 
	ms DOUBLE NOT NULL, 
	error TEXT, 
	CONSTRAINT pk_lab_findings PRIMARY KEY (run_id, position, retriever), 
	CONSTRAINT fk_lab_findings_run_id FOREIGN KEY(run_id) REFERENCES lab_runs (id) ON DELETE CASCADE
);
CREATE TABLE lab_passages (
	question_id TEXT NOT NULL, 
	number INTEGER NOT NULL, 
	document_id TEXT NOT NULL, 
	document TEXT NOT NULL, 
	sha256 TEXT NOT NULL, 
	chunk_id TEXT NOT NULL, 
	start INTEGER NOT NULL, 
	"end" INTEGER NOT NULL, 
	quote TEXT NOT NULL, 
	CONSTRAINT pk_lab_passages PRIMARY KEY (question_id, number), 
	CONSTRAINT fk_lab_passages_question_id FOREIGN KEY(question_id) REFERENCES lab_questions (id) ON DELETE CASCADE
);
CREATE TABLE lab_questions (
	id TEXT NOT NULL, 
	set_id TEXT NOT NULL, 
	position INTEGER NOT NULL, 
	text TEXT NOT NULL, 
	CONSTRAINT pk_lab_questions PRIMARY KEY (id), 
	CONSTRAINT fk_lab_questions_set_id FOREIGN KEY(set_id) REFERENCES lab_sets (id) ON DELETE CASCADE
);
CREATE TABLE lab_results (
	run_id TEXT NOT NULL, 
	retriever TEXT NOT NULL, 
	queries INTEGER NOT NULL, 
	metrics JSON NOT NULL, 
	p50_ms DOUBLE NOT NULL, 
	p95_ms DOUBLE NOT NULL, 
	errors INTEGER NOT NULL, 
	CONSTRAINT pk_lab_results PRIMARY KEY (run_id, retriever), 
	CONSTRAINT fk_lab_results_run_id FOREIGN KEY(run_id) REFERENCES lab_runs (id) ON DELETE CASCADE
);
CREATE TABLE lab_runs (
	id TEXT NOT NULL, 
	set_id TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	state TEXT NOT NULL, 
	error TEXT, 
	retrievers JSON NOT NULL, 
	k INTEGER NOT NULL, 
	embedding TEXT NOT NULL, 
	mixture TEXT NOT NULL, 
	every_document BOOLEAN NOT NULL, 
	document_count INTEGER NOT NULL, 
	document_names JSON NOT NULL, 
	fingerprint TEXT NOT NULL, 
	chunks INTEGER NOT NULL, 
	CONSTRAINT pk_lab_runs PRIMARY KEY (id), 
	CONSTRAINT fk_lab_runs_set_id FOREIGN KEY(set_id) REFERENCES lab_sets (id) ON DELETE CASCADE
);
CREATE TABLE lab_sets (
	id TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	name TEXT NOT NULL, 
	origin TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	CONSTRAINT pk_lab_sets PRIMARY KEY (id), 
	CONSTRAINT fk_lab_sets_owner FOREIGN KEY(owner) REFERENCES users (id) ON DELETE CASCADE
);
CREATE TABLE ledger (
	id INTEGER NOT NULL, 
	commits INTEGER NOT NULL, 
	CONSTRAINT pk_ledger PRIMARY KEY (id)
);
INSERT INTO "ledger" VALUES(1,31);
CREATE TABLE message_passages (
	message_id TEXT NOT NULL, 
	number INTEGER NOT NULL, 
	chunk_id TEXT NOT NULL, 
	document_id TEXT NOT NULL, 
	document TEXT NOT NULL, 
	sha256 TEXT NOT NULL, 
	page INTEGER, 
	heading TEXT NOT NULL, 
	start INTEGER NOT NULL, 
	"end" INTEGER NOT NULL, 
	text TEXT NOT NULL, 
	score DOUBLE NOT NULL, 
	found_by JSON NOT NULL, 
	CONSTRAINT pk_message_passages PRIMARY KEY (message_id, number), 
	CONSTRAINT fk_message_passages_message_id FOREIGN KEY(message_id) REFERENCES messages (id) ON DELETE CASCADE
);
INSERT INTO "message_passages" VALUES('c09be75337f078b4',1,'9d577d48606d70d4-00000','9d577d48606d70d4','castle.md','dec71aad8b5061eebf513748d5bc89a9b2d4c9d0e82793a2ea4a6928c00fa8b1',NULL,'Castle',0,82,'# Castle

The castle of Aldenburg was built in 1432. Its moat is nine metres deep.',3.00006723403930664062e+00,'{}');
INSERT INTO "message_passages" VALUES('5bc291b231b24000',1,'33f7eff8cfb41c39-00000','33f7eff8cfb41c39','등대.md','4a9b598aa163d588f75c6c270106737b5e3b39854a6d105e73fffd1dc611c26b',NULL,'등대',0,39,'# 등대

등대지기는 해질녘에 등불을 켰다. 등불은 고래기름으로 탔다.',2.84128618240356445312e+00,'{}');
INSERT INTO "message_passages" VALUES('5bc291b231b24000',2,'9d577d48606d70d4-00000','9d577d48606d70d4','castle.md','dec71aad8b5061eebf513748d5bc89a9b2d4c9d0e82793a2ea4a6928c00fa8b1',NULL,'Castle',0,82,'# Castle

The castle of Aldenburg was built in 1432. Its moat is nine metres deep.',1.72168815135955810546e+00,'{}');
CREATE TABLE messages (
	id TEXT NOT NULL, 
	conversation_id TEXT NOT NULL, 
	position INTEGER NOT NULL, 
	role TEXT NOT NULL, 
	content TEXT NOT NULL, 
	folded TEXT NOT NULL, 
	state TEXT NOT NULL, 
	question_id TEXT, 
	standalone_question TEXT, 
	model TEXT, 
	error TEXT, 
	timings_ms JSON NOT NULL, 
	created DATETIME NOT NULL, rating TEXT, left_out JSON DEFAULT '[]' NOT NULL, parent_id TEXT, searched_in TEXT, narrowed_to TEXT, attached JSON DEFAULT '[]' NOT NULL, coverage TEXT, rating_reason TEXT, rating_note TEXT, reading_offer JSON, 
	CONSTRAINT pk_messages PRIMARY KEY (id), 
	CONSTRAINT fk_messages_conversation_id FOREIGN KEY(conversation_id) REFERENCES conversations (id) ON DELETE CASCADE, 
	CONSTRAINT fk_messages_question_id FOREIGN KEY(question_id) REFERENCES messages (id) ON DELETE CASCADE, 
	CONSTRAINT uq_messages_question_id UNIQUE (question_id)
);
INSERT INTO "messages" VALUES('34598a48d017796f','06790179a0a7d745',1,'user','How deep is the moat of the castle?','how deep is the moat of the castle?','complete',NULL,NULL,NULL,NULL,'{}','2026-11-27 19:22:01.950853',NULL,'[]',NULL,NULL,NULL,'[]',NULL,NULL,NULL,NULL);
INSERT INTO "messages" VALUES('c09be75337f078b4','06790179a0a7d745',2,'assistant','The castle of Aldenburg was built in 1432. **Its moat is nine metres deep.** [1]','the castle of aldenburg was built in 1432. **its moat is nine metres deep.** [1]','complete','34598a48d017796f','How deep is the moat of the castle?',NULL,NULL,'{"condense": 4.0, "retrieve": 17.6, "first_token": 38.8, "total": 38.9}','2026-11-27 19:22:01.950853',NULL,'[]','34598a48d017796f',NULL,NULL,'[]',NULL,NULL,NULL,NULL);
INSERT INTO "messages" VALUES('70a209b5e7ecb6f3','06790179a0a7d745',3,'user','등불은 무엇으로 탔나요?','등불은 무엇으로 탔나요?','complete',NULL,NULL,NULL,NULL,'{}','2026-11-27 19:22:02.026251',NULL,'[]','c09be75337f078b4',NULL,NULL,'[]',NULL,NULL,NULL,NULL);
INSERT INTO "messages" VALUES('5bc291b231b24000','06790179a0a7d745',4,'assistant','분명한 답을 찾지 못했습니다. 가장 가까운 구절:

등대지기는 해질녘에 등불을 켰다. 등불은 고래기름으로 탔다. [1]

Its moat is nine metres deep. [2]','분명한 답을 찾지 못했습니다. 가장 가까운 구절:

등대지기는 해질녘에 등불을 켰다. 등불은 고래기름으로 탔다. [1]

its moat is nine metres deep. [2]','complete','70a209b5e7ecb6f3','등불은 무엇으로 탔나요? (deep, moat)',NULL,NULL,'{"condense": 526.3, "retrieve": 531.5, "first_token": 545.3, "total": 545.8}','2026-11-27 19:22:02.026251',NULL,'[]','70a209b5e7ecb6f3',NULL,NULL,'[]',NULL,NULL,NULL,NULL);
CREATE TABLE pages (
	document_id TEXT NOT NULL, 
	number INTEGER NOT NULL, 
	start INTEGER NOT NULL, 
	"end" INTEGER NOT NULL, 
	CONSTRAINT pk_pages PRIMARY KEY (document_id, number), 
	CONSTRAINT fk_pages_document_id FOREIGN KEY(document_id) REFERENCES documents (id) ON DELETE CASCADE
);
CREATE TABLE source_items (
	source_id TEXT NOT NULL, 
	id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	url TEXT, 
	version TEXT, 
	document_id TEXT, 
	reason TEXT, 
	round INTEGER NOT NULL, 
	updated DATETIME NOT NULL, wanted TEXT, tries INTEGER DEFAULT 0 NOT NULL, due DATETIME, 
	CONSTRAINT pk_source_items PRIMARY KEY (source_id, id), 
	CONSTRAINT fk_source_items_source_id FOREIGN KEY(source_id) REFERENCES sources (id) ON DELETE CASCADE, 
	CONSTRAINT fk_source_items_document_id FOREIGN KEY(document_id) REFERENCES documents (id) ON DELETE SET NULL
);
CREATE TABLE sources (
	id TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	name TEXT NOT NULL, 
	settings JSON NOT NULL, 
	every INTEGER, 
	cursor TEXT, 
	round INTEGER NOT NULL, 
	state TEXT NOT NULL, 
	reason TEXT, 
	began DATETIME, 
	ended DATETIME, 
	created DATETIME NOT NULL, 
	CONSTRAINT pk_sources PRIMARY KEY (id), 
	CONSTRAINT fk_sources_owner FOREIGN KEY(owner) REFERENCES users (id) ON DELETE CASCADE
);
CREATE TABLE tags (
	id TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	name TEXT NOT NULL, 
	folded TEXT NOT NULL, 
	CONSTRAINT pk_tags PRIMARY KEY (id), 
	CONSTRAINT fk_tags_owner FOREIGN KEY(owner) REFERENCES users (id) ON DELETE CASCADE
);
CREATE TABLE traces (
	message_id TEXT NOT NULL, 
	settings JSON NOT NULL, 
	sent JSON NOT NULL, 
	cut INTEGER NOT NULL, 
	unsearched JSON NOT NULL, 
	unsearched_count INTEGER NOT NULL, 
	CONSTRAINT pk_traces PRIMARY KEY (message_id), 
	CONSTRAINT fk_traces_message_id FOREIGN KEY(message_id) REFERENCES messages (id) ON DELETE CASCADE
);
INSERT INTO "traces" VALUES('c09be75337f078b4','{}','[]',0,'[]',0);
INSERT INTO "traces" VALUES('5bc291b231b24000','{}','[]',0,'[]',0);
CREATE TABLE tree_branches (
	id TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	document_id TEXT, 
	state TEXT NOT NULL, 
	made_with JSON NOT NULL, 
	contents TEXT NOT NULL, 
	left_out INTEGER NOT NULL, 
	updated DATETIME NOT NULL, 
	CONSTRAINT pk_tree_branches PRIMARY KEY (id), 
	CONSTRAINT fk_tree_branches_owner FOREIGN KEY(owner) REFERENCES users (id) ON DELETE CASCADE, 
	CONSTRAINT fk_tree_branches_document_id FOREIGN KEY(document_id) REFERENCES documents (id) ON DELETE CASCADE
);
INSERT INTO "tree_branches" VALUES('5ab03a83cfc25ffe','ann','33f7eff8cfb41c39','ready','{"format": 2, "summaries": "extractive", "model": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f", "seed": 224}','2e1d87359a0c52121df62092abc7b1bca536afdedb324b308f00ef0111687ce0',0,'2026-11-27 19:22:01.690999');
INSERT INTO "tree_branches" VALUES('9366c257a633ca10','ann','9d577d48606d70d4','ready','{"format": 2, "summaries": "extractive", "model": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f", "seed": 224}','dcee750453c9fb40258f199f9db8776b64cef607257365c5889fcc1ae18329d7',0,'2026-11-27 19:22:01.775100');
INSERT INTO "tree_branches" VALUES('1fe501fe6d1e457c','ann',NULL,'ready','{"format": 2, "summaries": "extractive", "model": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f", "seed": 224}','3fc76346d8d34d1cb0dfb5f286f61273ceed4c58efd2aa2d695d22900b3245d6',0,'2026-11-27 19:22:01.925078');
CREATE TABLE tree_edges (
	parent_id TEXT NOT NULL, 
	position INTEGER NOT NULL, 
	child_id TEXT NOT NULL, 
	CONSTRAINT pk_tree_edges PRIMARY KEY (parent_id, position), 
	CONSTRAINT fk_tree_edges_parent_id FOREIGN KEY(parent_id) REFERENCES tree_nodes (id) ON DELETE CASCADE
);
INSERT INTO "tree_edges" VALUES('b673febcf7a18a1b489415db',0,'33f7eff8cfb41c39-l00000');
INSERT INTO "tree_edges" VALUES('b673febcf7a18a1b489415db',1,'9d577d48606d70d4-l00000');
CREATE TABLE tree_nodes (
	id TEXT NOT NULL, 
	branch_id TEXT NOT NULL, 
	level INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	start INTEGER, 
	"end" INTEGER, 
	page INTEGER, 
	heading TEXT NOT NULL, 
	weight DOUBLE NOT NULL, 
	text TEXT NOT NULL, 
	CONSTRAINT pk_tree_nodes PRIMARY KEY (id), 
	CONSTRAINT fk_tree_nodes_branch_id FOREIGN KEY(branch_id) REFERENCES tree_branches (id) ON DELETE CASCADE
);
INSERT INTO "tree_nodes" VALUES('33f7eff8cfb41c39-l00000','5ab03a83cfc25ffe',0,0,0,39,NULL,'등대',0.0,'# 등대

등대지기는 해질녘에 등불을 켰다. 등불은 고래기름으로 탔다.');
INSERT INTO "tree_nodes" VALUES('9d577d48606d70d4-l00000','9366c257a633ca10',0,0,0,82,NULL,'Castle',0.0,'# Castle

The castle of Aldenburg was built in 1432. Its moat is nine metres deep.');
INSERT INTO "tree_nodes" VALUES('b673febcf7a18a1b489415db','1fe501fe6d1e457c',1,0,NULL,NULL,NULL,'',0.0,'등대지기는 해질녘에 등불을 켰다.
등불은 고래기름으로 탔다.
The castle of Aldenburg was built in 1432.
Its moat is nine metres deep.');
CREATE TABLE usage (
	owner TEXT NOT NULL, 
	day TEXT NOT NULL, 
	answers INTEGER NOT NULL, 
	tokens INTEGER NOT NULL, embedding_seconds DOUBLE DEFAULT 0 NOT NULL, 
	CONSTRAINT pk_usage PRIMARY KEY (owner, day), 
	CONSTRAINT fk_usage_owner FOREIGN KEY(owner) REFERENCES users (id) ON DELETE CASCADE
);
CREATE TABLE users (
	id TEXT NOT NULL, 
	created DATETIME NOT NULL, name TEXT, email TEXT, seen DATETIME, not_before DATETIME, removing DATETIME, limits JSON, language TEXT, index_version INTEGER DEFAULT 0 NOT NULL, 
	CONSTRAINT pk_users PRIMARY KEY (id)
);
INSERT INTO "users" VALUES('ann','2026-11-27 19:21:57.385462',NULL,NULL,NULL,NULL,NULL,NULL,NULL,10);
CREATE TABLE vision_models (
	address TEXT NOT NULL, 
	model TEXT NOT NULL, 
	takes_pictures BOOLEAN NOT NULL, 
	asked DATETIME NOT NULL, 
	CONSTRAINT pk_vision_models PRIMARY KEY (address, model)
);
CREATE TABLE webhook_deliveries (
	id TEXT NOT NULL, 
	webhook_id TEXT NOT NULL, 
	event TEXT NOT NULL, 
	data JSON NOT NULL, 
	created DATETIME NOT NULL, 
	tries INTEGER NOT NULL, 
	due DATETIME NOT NULL, 
	CONSTRAINT pk_webhook_deliveries PRIMARY KEY (id), 
	CONSTRAINT fk_webhook_deliveries_webhook_id FOREIGN KEY(webhook_id) REFERENCES webhooks (id) ON DELETE CASCADE
);
CREATE TABLE webhooks (
	id TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	url TEXT NOT NULL, 
	events JSON NOT NULL, 
	secret TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	delivered DATETIME, 
	disabled DATETIME, 
	reason TEXT, 
	CONSTRAINT pk_webhooks PRIMARY KEY (id), 
	CONSTRAINT fk_webhooks_owner FOREIGN KEY(owner) REFERENCES users (id) ON DELETE CASCADE
);
CREATE INDEX ix_conversations_owner_updated ON conversations (owner, updated);
CREATE UNIQUE INDEX ix_messages_conversation_id_position ON messages (conversation_id, position);
CREATE UNIQUE INDEX ix_messages_pending ON messages (conversation_id) WHERE state = 'pending';
CREATE UNIQUE INDEX ix_documents_owner_sha256 ON documents (owner, sha256);
CREATE INDEX ix_documents_owner_created ON documents (owner, created);
CREATE INDEX ix_documents_replaces ON documents (replaces);
CREATE UNIQUE INDEX ix_chunks_document_id_position_id ON chunks (document_id, position, id);
CREATE INDEX ix_lab_sets_owner_created ON lab_sets (owner, created);
CREATE UNIQUE INDEX ix_lab_questions_set_id_position ON lab_questions (set_id, position);
CREATE INDEX ix_lab_runs_set_id_created ON lab_runs (set_id, created);
CREATE INDEX ix_messages_parent_id ON messages (parent_id);
CREATE UNIQUE INDEX ix_tree_branches_owner_document_id ON tree_branches (owner, document_id);
CREATE INDEX ix_tree_branches_document_id ON tree_branches (document_id);
CREATE INDEX ix_tree_nodes_branch_id_level_position ON tree_nodes (branch_id, level, position);
CREATE INDEX ix_tree_edges_child_id ON tree_edges (child_id);
CREATE INDEX ix_sources_owner_created ON sources (owner, created);
CREATE INDEX ix_source_items_document_id ON source_items (document_id);
CREATE UNIQUE INDEX ix_collections_owner_folded ON collections (owner, folded);
CREATE INDEX ix_documents_collection_id ON documents (collection_id);
CREATE INDEX ix_choices_chosen_id ON choices (chosen_id);
CREATE INDEX ix_api_keys_owner_created ON api_keys (owner, created);
CREATE INDEX ix_audit_log_owner_id ON audit_log (owner, id);
CREATE TRIGGER audit_log_insert BEFORE INSERT ON audit_log
    WHEN EXISTS (SELECT 1 FROM audit_log WHERE id = NEW.id)
    BEGIN SELECT RAISE(ABORT, 'the audit log only grows'); END;
CREATE TRIGGER audit_log_update BEFORE UPDATE ON audit_log
    BEGIN SELECT RAISE(ABORT, 'the audit log only grows'); END;
CREATE TRIGGER audit_log_delete BEFORE DELETE ON audit_log
    WHEN julianday(OLD.at) IS NULL OR julianday(OLD.at) > julianday('now') - 30
    BEGIN SELECT RAISE(ABORT, 'the audit log only grows'); END;
CREATE UNIQUE INDEX ix_tags_owner_folded ON tags (owner, folded);
CREATE INDEX ix_document_tags_tag_id ON document_tags (tag_id);
CREATE INDEX ix_webhooks_owner_created ON webhooks (owner, created);
CREATE INDEX ix_webhook_deliveries_webhook_id_due ON webhook_deliveries (webhook_id, due);
CREATE INDEX ix_webhook_deliveries_due ON webhook_deliveries (due);
CREATE INDEX ix_grids_owner_created ON grids (owner, created);
CREATE INDEX ix_grid_choices_chosen_id ON grid_choices (chosen_id);
CREATE INDEX ix_grid_cells_document_id ON grid_cells (document_id);
CREATE INDEX ix_figures_document_id_number ON figures (document_id, number);
CREATE UNIQUE INDEX ix_jobs_owner_kind_key ON jobs (owner, kind, "key");
CREATE INDEX ix_jobs_state_run_at ON jobs (state, run_at);
DELETE FROM "sqlite_sequence";
COMMIT;
