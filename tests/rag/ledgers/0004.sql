BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0004');
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
INSERT INTO "chunks" VALUES('70be797641ed069c-00000','70be797641ed069c',0,0,82,NULL,'Castle','# Castle

The castle of Aldenburg was built in 1432. Its moat is nine metres deep.');
INSERT INTO "chunks" VALUES('6256053a0101ee35-00000','6256053a0101ee35',0,0,39,NULL,'등대','# 등대

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
INSERT INTO "citations" VALUES('24de654ce8ba00ed',0,1,0,76,'verified',10,82,'The castle of Aldenburg was built in 1432. Its moat is nine metres deep.',NULL);
INSERT INTO "citations" VALUES('273fa98ed3499601',0,1,49,67,'verified',25,39,'등불은 고래기름으로 탔다.',NULL);
INSERT INTO "citations" VALUES('273fa98ed3499601',1,1,69,91,'verified',6,24,'등대지기는 해질녘에 등불을 켰다.',NULL);
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
INSERT INTO "conversations" VALUES('0a248dfa6953ae45','ann','How deep is the moat of the castle?','how deep is the moat of the castle?','2026-11-22 03:38:32.810101','2026-11-22 03:38:33.407182','273fa98ed3499601');
CREATE TABLE document_texts (
	document_id TEXT NOT NULL, 
	text TEXT NOT NULL, 
	CONSTRAINT pk_document_texts PRIMARY KEY (document_id), 
	CONSTRAINT fk_document_texts_document_id FOREIGN KEY(document_id) REFERENCES documents (id) ON DELETE CASCADE
);
INSERT INTO "document_texts" VALUES('70be797641ed069c','# Castle

The castle of Aldenburg was built in 1432. Its moat is nine metres deep.');
INSERT INTO "document_texts" VALUES('6256053a0101ee35','# 등대

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
INSERT INTO "documents" VALUES('70be797641ed069c','ann','castle.md','dec71aad8b5061eebf513748d5bc89a9b2d4c9d0e82793a2ea4a6928c00fa8b1',83,'ready',NULL,NULL,1,NULL,'2026-11-22 03:38:19.480524','2026-11-22 03:38:31.969710');
INSERT INTO "documents" VALUES('6256053a0101ee35','ann','등대.md','4a9b598aa163d588f75c6c270106737b5e3b39854a6d105e73fffd1dc611c26b',94,'ready',NULL,NULL,1,NULL,'2026-11-22 03:38:32.008554','2026-11-22 03:38:32.790337');
CREATE TABLE index_states (
	owner TEXT NOT NULL, 
	name TEXT NOT NULL, 
	state JSON NOT NULL, 
	CONSTRAINT pk_index_states PRIMARY KEY (owner, name), 
	CONSTRAINT fk_index_states_owner FOREIGN KEY(owner) REFERENCES users (id) ON DELETE CASCADE
);
INSERT INTO "index_states" VALUES('ann','vectors','{"model": "multilingual-e5-small", "dimension": 384, "fingerprint": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f", "store": "chroma", "folder": "vectors-5e63be46"}');
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
INSERT INTO "message_passages" VALUES('24de654ce8ba00ed',1,'70be797641ed069c-00000','70be797641ed069c','castle.md','dec71aad8b5061eebf513748d5bc89a9b2d4c9d0e82793a2ea4a6928c00fa8b1',NULL,'Castle',0,82,'# Castle

The castle of Aldenburg was built in 1432. Its moat is nine metres deep.',3.00006723403930664062e+00,'{}');
INSERT INTO "message_passages" VALUES('273fa98ed3499601',1,'6256053a0101ee35-00000','6256053a0101ee35','등대.md','4a9b598aa163d588f75c6c270106737b5e3b39854a6d105e73fffd1dc611c26b',NULL,'등대',0,39,'# 등대

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
INSERT INTO "messages" VALUES('645e324f78f64e22','0a248dfa6953ae45',1,'user','How deep is the moat of the castle?','how deep is the moat of the castle?','complete',NULL,NULL,NULL,NULL,'{}','2026-11-22 03:38:32.872859',NULL,'[]',NULL);
INSERT INTO "messages" VALUES('24de654ce8ba00ed','0a248dfa6953ae45',2,'assistant','The castle of Aldenburg was built in 1432. Its moat is nine metres deep. [1]','the castle of aldenburg was built in 1432. its moat is nine metres deep. [1]','complete','645e324f78f64e22','How deep is the moat of the castle?',NULL,NULL,'{"condense": 0.2, "retrieve": 72.6, "first_token": 116.0, "total": 153.4}','2026-11-22 03:38:32.875846',NULL,'[]','645e324f78f64e22');
INSERT INTO "messages" VALUES('2d3ef6c5c08df183','0a248dfa6953ae45',3,'user','등불은 무엇으로 탔나요?','등불은 무엇으로 탔나요?','complete',NULL,NULL,NULL,NULL,'{}','2026-11-22 03:38:33.221352',NULL,'[]','24de654ce8ba00ed');
INSERT INTO "messages" VALUES('273fa98ed3499601','0a248dfa6953ae45',4,'assistant','문서에 이 질문에 대한 답이 없을 수 있습니다. 가장 가까운 내용은 다음과 같습니다:

등불은 고래기름으로 탔다. [1]

등대지기는 해질녘에 등불을 켰다. [1]','문서에 이 질문에 대한 답이 없을 수 있습니다. 가장 가까운 내용은 다음과 같습니다:

등불은 고래기름으로 탔다. [1]

등대지기는 해질녘에 등불을 켰다. [1]','complete','2d3ef6c5c08df183','등불은 무엇으로 탔나요?',NULL,NULL,'{"condense": 0.1, "retrieve": 21.2, "first_token": 53.9, "total": 79.9}','2026-11-22 03:38:33.222320',NULL,'[]','2d3ef6c5c08df183');
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
INSERT INTO "traces" VALUES('24de654ce8ba00ed','{}','[]',0,'[]',0);
INSERT INTO "traces" VALUES('273fa98ed3499601','{}','[]',0,'[]',0);
CREATE TABLE users (
	id TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	CONSTRAINT pk_users PRIMARY KEY (id)
);
INSERT INTO "users" VALUES('ann','2026-11-22 03:38:19.538498');
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
COMMIT;
