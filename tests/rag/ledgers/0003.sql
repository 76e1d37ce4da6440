BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0003');
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
INSERT INTO "chunks" VALUES('67a3a452682d47fa-00000','67a3a452682d47fa',0,0,82,NULL,'Castle','# Castle

The castle of Aldenburg was built in 1432. Its moat is nine metres deep.');
INSERT INTO "chunks" VALUES('8f12146672961258-00000','8f12146672961258',0,0,39,NULL,'등대','# 등대

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
INSERT INTO "citations" VALUES('1bc049c64aef2664',0,1,0,76,'verified',10,82,'The castle of Aldenburg was built in 1432. Its moat is nine metres deep.',NULL);
INSERT INTO "citations" VALUES('749c45fe49a75746',0,1,49,67,'verified',25,39,'등불은 고래기름으로 탔다.',NULL);
INSERT INTO "citations" VALUES('749c45fe49a75746',1,1,69,91,'verified',6,24,'등대지기는 해질녘에 등불을 켰다.',NULL);
CREATE TABLE conversations (
	id TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	title TEXT NOT NULL, 
	folded TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	updated DATETIME NOT NULL, 
	CONSTRAINT pk_conversations PRIMARY KEY (id), 
	CONSTRAINT fk_conversations_owner FOREIGN KEY(owner) REFERENCES users (id) ON DELETE CASCADE
);
INSERT INTO "conversations" VALUES('abf6c12d2bca2a1f','ann','How deep is the moat of the castle?','how deep is the moat of the castle?','2026-11-22 03:38:02.139103','2026-11-22 03:38:02.754253');
CREATE TABLE document_texts (
	document_id TEXT NOT NULL, 
	text TEXT NOT NULL, 
	CONSTRAINT pk_document_texts PRIMARY KEY (document_id), 
	CONSTRAINT fk_document_texts_document_id FOREIGN KEY(document_id) REFERENCES documents (id) ON DELETE CASCADE
);
INSERT INTO "document_texts" VALUES('67a3a452682d47fa','# Castle

The castle of Aldenburg was built in 1432. Its moat is nine metres deep.');
INSERT INTO "document_texts" VALUES('8f12146672961258','# 등대

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
INSERT INTO "documents" VALUES('67a3a452682d47fa','ann','castle.md','dec71aad8b5061eebf513748d5bc89a9b2d4c9d0e82793a2ea4a6928c00fa8b1',83,'ready',NULL,NULL,1,NULL,'2026-11-22 03:37:48.828466','2026-11-22 03:38:01.169427');
INSERT INTO "documents" VALUES('8f12146672961258','ann','등대.md','4a9b598aa163d588f75c6c270106737b5e3b39854a6d105e73fffd1dc611c26b',94,'ready',NULL,NULL,1,NULL,'2026-11-22 03:38:01.228468','2026-11-22 03:38:02.122553');
CREATE TABLE index_states (
	owner TEXT NOT NULL, 
	name TEXT NOT NULL, 
	state JSON NOT NULL, 
	CONSTRAINT pk_index_states PRIMARY KEY (owner, name), 
	CONSTRAINT fk_index_states_owner FOREIGN KEY(owner) REFERENCES users (id) ON DELETE CASCADE
);
INSERT INTO "index_states" VALUES('ann','vectors','{"model": "multilingual-e5-small", "dimension": 384, "fingerprint": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f", "store": "chroma", "folder": "vectors-e7e72374"}');
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
INSERT INTO "ledger" VALUES(1,25);
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
INSERT INTO "message_passages" VALUES('1bc049c64aef2664',1,'67a3a452682d47fa-00000','67a3a452682d47fa','castle.md','dec71aad8b5061eebf513748d5bc89a9b2d4c9d0e82793a2ea4a6928c00fa8b1',NULL,'Castle',0,82,'# Castle

The castle of Aldenburg was built in 1432. Its moat is nine metres deep.',3.00006723403930664062e+00,'{}');
INSERT INTO "message_passages" VALUES('749c45fe49a75746',1,'8f12146672961258-00000','8f12146672961258','등대.md','4a9b598aa163d588f75c6c270106737b5e3b39854a6d105e73fffd1dc611c26b',NULL,'등대',0,39,'# 등대

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
	created DATETIME NOT NULL, rating TEXT, left_out JSON DEFAULT '[]' NOT NULL, 
	CONSTRAINT pk_messages PRIMARY KEY (id), 
	CONSTRAINT fk_messages_conversation_id FOREIGN KEY(conversation_id) REFERENCES conversations (id) ON DELETE CASCADE, 
	CONSTRAINT fk_messages_question_id FOREIGN KEY(question_id) REFERENCES messages (id) ON DELETE CASCADE, 
	CONSTRAINT uq_messages_question_id UNIQUE (question_id)
);
INSERT INTO "messages" VALUES('344a5642bcf606cf','abf6c12d2bca2a1f',1,'user','How deep is the moat of the castle?','how deep is the moat of the castle?','complete',NULL,NULL,NULL,NULL,'{}','2026-11-22 03:38:02.217605',NULL,'[]');
INSERT INTO "messages" VALUES('1bc049c64aef2664','abf6c12d2bca2a1f',2,'assistant','The castle of Aldenburg was built in 1432. Its moat is nine metres deep. [1]','the castle of aldenburg was built in 1432. its moat is nine metres deep. [1]','complete','344a5642bcf606cf','How deep is the moat of the castle?',NULL,NULL,'{"condense": 0.2, "retrieve": 66.6, "first_token": 114.0, "total": 149.7}','2026-11-22 03:38:02.220193',NULL,'[]');
INSERT INTO "messages" VALUES('3d98e58341fd86d8','abf6c12d2bca2a1f',3,'user','등불은 무엇으로 탔나요?','등불은 무엇으로 탔나요?','complete',NULL,NULL,NULL,NULL,'{}','2026-11-22 03:38:02.610180',NULL,'[]');
INSERT INTO "messages" VALUES('749c45fe49a75746','abf6c12d2bca2a1f',4,'assistant','문서에 이 질문에 대한 답이 없을 수 있습니다. 가장 가까운 내용은 다음과 같습니다:

등불은 고래기름으로 탔다. [1]

등대지기는 해질녘에 등불을 켰다. [1]','문서에 이 질문에 대한 답이 없을 수 있습니다. 가장 가까운 내용은 다음과 같습니다:

등불은 고래기름으로 탔다. [1]

등대지기는 해질녘에 등불을 켰다. [1]','complete','3d98e58341fd86d8','등불은 무엇으로 탔나요?',NULL,NULL,'{"condense": 0.2, "retrieve": 28.4, "first_token": 51.1, "total": 80.3}','2026-11-22 03:38:02.611030',NULL,'[]');
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
INSERT INTO "traces" VALUES('1bc049c64aef2664','{}','[]',0,'[]',0);
INSERT INTO "traces" VALUES('749c45fe49a75746','{}','[]',0,'[]',0);
CREATE TABLE users (
	id TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	CONSTRAINT pk_users PRIMARY KEY (id)
);
INSERT INTO "users" VALUES('ann','2026-11-22 03:37:48.878839');
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
COMMIT;
