BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0005');
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
INSERT INTO "chunks" VALUES('a223af46aa93560b-00000','a223af46aa93560b',0,0,82,NULL,'Castle','# Castle

The castle of Aldenburg was built in 1432. Its moat is nine metres deep.');
INSERT INTO "chunks" VALUES('1bc58caed153ba28-00000','1bc58caed153ba28',0,0,39,NULL,'등대','# 등대

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
	quote TEXT NOT NULL, feedback TEXT, 
	CONSTRAINT pk_citations PRIMARY KEY (message_id, position), 
	CONSTRAINT fk_citations_message_id FOREIGN KEY(message_id) REFERENCES messages (id) ON DELETE CASCADE
);
INSERT INTO "citations" VALUES('fa82d135670b748a',0,1,0,76,'verified',10,82,'The castle of Aldenburg was built in 1432. Its moat is nine metres deep.',NULL);
INSERT INTO "citations" VALUES('58d35395eedfc6ed',0,1,49,67,'verified',25,39,'등불은 고래기름으로 탔다.',NULL);
INSERT INTO "citations" VALUES('58d35395eedfc6ed',1,1,69,91,'verified',6,24,'등대지기는 해질녘에 등불을 켰다.',NULL);
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
INSERT INTO "conversations" VALUES('246431931c19c19b','ann','How deep is the moat of the castle?','how deep is the moat of the castle?','2026-11-22 03:39:00.302836','2026-11-22 03:39:00.838971','58d35395eedfc6ed');
CREATE TABLE document_texts (
	document_id TEXT NOT NULL, 
	text TEXT NOT NULL, 
	CONSTRAINT pk_document_texts PRIMARY KEY (document_id), 
	CONSTRAINT fk_document_texts_document_id FOREIGN KEY(document_id) REFERENCES documents (id) ON DELETE CASCADE
);
INSERT INTO "document_texts" VALUES('a223af46aa93560b','# Castle

The castle of Aldenburg was built in 1432. Its moat is nine metres deep.');
INSERT INTO "document_texts" VALUES('1bc58caed153ba28','# 등대

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
	updated DATETIME NOT NULL, 
	CONSTRAINT pk_documents PRIMARY KEY (id), 
	CONSTRAINT fk_documents_owner FOREIGN KEY(owner) REFERENCES users (id) ON DELETE CASCADE, 
	CONSTRAINT fk_documents_replaces FOREIGN KEY(replaces) REFERENCES documents (id) ON DELETE SET NULL
);
INSERT INTO "documents" VALUES('a223af46aa93560b','ann','castle.md','dec71aad8b5061eebf513748d5bc89a9b2d4c9d0e82793a2ea4a6928c00fa8b1',83,'ready',NULL,NULL,1,NULL,'2026-11-22 03:38:48.144485','2026-11-22 03:38:59.454330');
INSERT INTO "documents" VALUES('1bc58caed153ba28','ann','등대.md','4a9b598aa163d588f75c6c270106737b5e3b39854a6d105e73fffd1dc611c26b',94,'ready',NULL,NULL,1,NULL,'2026-11-22 03:38:59.520483','2026-11-22 03:39:00.269660');
CREATE TABLE index_states (
	owner TEXT NOT NULL, 
	name TEXT NOT NULL, 
	state JSON NOT NULL, 
	CONSTRAINT pk_index_states PRIMARY KEY (owner, name), 
	CONSTRAINT fk_index_states_owner FOREIGN KEY(owner) REFERENCES users (id) ON DELETE CASCADE
);
INSERT INTO "index_states" VALUES('ann','vectors','{"model": "multilingual-e5-small", "dimension": 384, "fingerprint": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f", "store": "chroma", "folder": "vectors-8d7af3a6"}');
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
INSERT INTO "ledger" VALUES(1,36);
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
INSERT INTO "message_passages" VALUES('fa82d135670b748a',1,'a223af46aa93560b-00000','a223af46aa93560b','castle.md','dec71aad8b5061eebf513748d5bc89a9b2d4c9d0e82793a2ea4a6928c00fa8b1',NULL,'Castle',0,82,'# Castle

The castle of Aldenburg was built in 1432. Its moat is nine metres deep.',3.00006723403930664062e+00,'{}');
INSERT INTO "message_passages" VALUES('58d35395eedfc6ed',1,'1bc58caed153ba28-00000','1bc58caed153ba28','등대.md','4a9b598aa163d588f75c6c270106737b5e3b39854a6d105e73fffd1dc611c26b',NULL,'등대',0,39,'# 등대

등대지기는 해질녘에 등불을 켰다. 등불은 고래기름으로 탔다.',2.84128618240356445312e+00,'{}');
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
	created DATETIME NOT NULL, rating TEXT, left_out JSON DEFAULT '[]' NOT NULL, parent_id TEXT, 
	CONSTRAINT pk_messages PRIMARY KEY (id), 
	CONSTRAINT fk_messages_conversation_id FOREIGN KEY(conversation_id) REFERENCES conversations (id) ON DELETE CASCADE, 
	CONSTRAINT fk_messages_question_id FOREIGN KEY(question_id) REFERENCES messages (id) ON DELETE CASCADE, 
	CONSTRAINT uq_messages_question_id UNIQUE (question_id)
);
INSERT INTO "messages" VALUES('41725057cab8acf1','246431931c19c19b',1,'user','How deep is the moat of the castle?','how deep is the moat of the castle?','complete',NULL,NULL,NULL,NULL,'{}','2026-11-22 03:39:00.322810',NULL,'[]',NULL);
INSERT INTO "messages" VALUES('fa82d135670b748a','246431931c19c19b',2,'assistant','The castle of Aldenburg was built in 1432. Its moat is nine metres deep. [1]','the castle of aldenburg was built in 1432. its moat is nine metres deep. [1]','complete','41725057cab8acf1','How deep is the moat of the castle?',NULL,NULL,'{"condense": 0.2, "retrieve": 55.6, "first_token": 131.6, "total": 164.6}','2026-11-22 03:39:00.325085',NULL,'[]','41725057cab8acf1');
INSERT INTO "messages" VALUES('450adb38cf113848','246431931c19c19b',3,'user','등불은 무엇으로 탔나요?','등불은 무엇으로 탔나요?','complete',NULL,NULL,NULL,NULL,'{}','2026-11-22 03:39:00.695058',NULL,'[]','fa82d135670b748a');
INSERT INTO "messages" VALUES('58d35395eedfc6ed','246431931c19c19b',4,'assistant','문서에 이 질문에 대한 답이 없을 수 있습니다. 가장 가까운 내용은 다음과 같습니다:

등불은 고래기름으로 탔다. [1]

등대지기는 해질녘에 등불을 켰다. [1]','문서에 이 질문에 대한 답이 없을 수 있습니다. 가장 가까운 내용은 다음과 같습니다:

등불은 고래기름으로 탔다. [1]

등대지기는 해질녘에 등불을 켰다. [1]','complete','450adb38cf113848','등불은 무엇으로 탔나요?',NULL,NULL,'{"condense": 0.2, "retrieve": 16.4, "first_token": 42.3, "total": 53.3}','2026-11-22 03:39:00.695875',NULL,'[]','450adb38cf113848');
CREATE TABLE pages (
	document_id TEXT NOT NULL, 
	number INTEGER NOT NULL, 
	start INTEGER NOT NULL, 
	"end" INTEGER NOT NULL, 
	CONSTRAINT pk_pages PRIMARY KEY (document_id, number), 
	CONSTRAINT fk_pages_document_id FOREIGN KEY(document_id) REFERENCES documents (id) ON DELETE CASCADE
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
INSERT INTO "traces" VALUES('fa82d135670b748a','{}','[]',0,'[]',0);
INSERT INTO "traces" VALUES('58d35395eedfc6ed','{}','[]',0,'[]',0);
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
INSERT INTO "tree_branches" VALUES('f7299d7e48cae59b','ann','1bc58caed153ba28','ready','{"format": 1, "summaries": "extractive", "model": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f", "seed": 224}','ee89d96249025d84522e68de71298e1036755f5ffefcefc04a477e30de5fdb4f',0,'2026-11-22 03:39:01.268907');
INSERT INTO "tree_branches" VALUES('5ec3a44f2840de79','ann','a223af46aa93560b','ready','{"format": 1, "summaries": "extractive", "model": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f", "seed": 224}','b9aaeda02786521771a808bfba177bf037860395c13c820fdf2dcd689f76f8c3',0,'2026-11-22 03:39:01.486114');
INSERT INTO "tree_branches" VALUES('094242c63c44fde4','ann',NULL,'ready','{"format": 1, "summaries": "extractive", "model": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f", "seed": 224}','2b8fd305497f02f3f512136e20f241bee9328254af98fdbe0cad0cb41ab915cb',0,'2026-11-22 03:39:02.425962');
CREATE TABLE tree_edges (
	parent_id TEXT NOT NULL, 
	position INTEGER NOT NULL, 
	child_id TEXT NOT NULL, 
	CONSTRAINT pk_tree_edges PRIMARY KEY (parent_id, position), 
	CONSTRAINT fk_tree_edges_parent_id FOREIGN KEY(parent_id) REFERENCES tree_nodes (id) ON DELETE CASCADE
);
INSERT INTO "tree_edges" VALUES('9c76bd1cdd6365a621291423',0,'1bc58caed153ba28-l00000');
INSERT INTO "tree_edges" VALUES('9c76bd1cdd6365a621291423',1,'a223af46aa93560b-l00000');
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
INSERT INTO "tree_nodes" VALUES('1bc58caed153ba28-l00000','f7299d7e48cae59b',0,0,0,39,NULL,'등대',0.0,'# 등대

등대지기는 해질녘에 등불을 켰다. 등불은 고래기름으로 탔다.');
INSERT INTO "tree_nodes" VALUES('a223af46aa93560b-l00000','5ec3a44f2840de79',0,0,0,82,NULL,'Castle',0.0,'# Castle

The castle of Aldenburg was built in 1432. Its moat is nine metres deep.');
INSERT INTO "tree_nodes" VALUES('9c76bd1cdd6365a621291423','094242c63c44fde4',1,0,NULL,NULL,NULL,'',0.0,'등대지기는 해질녘에 등불을 켰다.
등불은 고래기름으로 탔다.
The castle of Aldenburg was built in 1432.
Its moat is nine metres deep.');
CREATE TABLE users (
	id TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	CONSTRAINT pk_users PRIMARY KEY (id)
);
INSERT INTO "users" VALUES('ann','2026-11-22 03:38:48.197867');
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
COMMIT;
