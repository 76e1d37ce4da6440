BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0001');
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
INSERT INTO "chunks" VALUES('4dd0714510bb692c-00000','4dd0714510bb692c',0,0,82,NULL,'Castle','# Castle

The castle of Aldenburg was built in 1432. Its moat is nine metres deep.');
INSERT INTO "chunks" VALUES('48822736dba3d360-00000','48822736dba3d360',0,0,39,NULL,'등대','# 등대

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
	quote TEXT NOT NULL, 
	CONSTRAINT pk_citations PRIMARY KEY (message_id, position), 
	CONSTRAINT fk_citations_message_id FOREIGN KEY(message_id) REFERENCES messages (id) ON DELETE CASCADE
);
INSERT INTO "citations" VALUES('8e30f86b061eeaed',0,1,0,33,'verified',53,82,'Its moat is nine metres deep.');
INSERT INTO "citations" VALUES('8e30f86b061eeaed',1,1,35,81,'verified',10,52,'The castle of Aldenburg was built in 1432.');
INSERT INTO "citations" VALUES('2432be0e5af719ef',0,1,0,18,'verified',25,39,'등불은 고래기름으로 탔다.');
INSERT INTO "citations" VALUES('2432be0e5af719ef',1,1,20,42,'verified',6,24,'등대지기는 해질녘에 등불을 켰다.');
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
INSERT INTO "conversations" VALUES('39ee80c34bbe2692','ann','How deep is the moat of the castle?','how deep is the moat of the castle?','2026-11-22 03:36:54.401366','2026-11-22 03:36:54.986508');
CREATE TABLE document_texts (
	document_id TEXT NOT NULL, 
	text TEXT NOT NULL, 
	CONSTRAINT pk_document_texts PRIMARY KEY (document_id), 
	CONSTRAINT fk_document_texts_document_id FOREIGN KEY(document_id) REFERENCES documents (id) ON DELETE CASCADE
);
INSERT INTO "document_texts" VALUES('4dd0714510bb692c','# Castle

The castle of Aldenburg was built in 1432. Its moat is nine metres deep.');
INSERT INTO "document_texts" VALUES('48822736dba3d360','# 등대

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
INSERT INTO "documents" VALUES('4dd0714510bb692c','ann','castle.md','dec71aad8b5061eebf513748d5bc89a9b2d4c9d0e82793a2ea4a6928c00fa8b1',83,'ready',NULL,NULL,1,NULL,'2026-11-22 03:36:45.037417','2026-11-22 03:36:53.463878');
INSERT INTO "documents" VALUES('48822736dba3d360','ann','등대.md','4a9b598aa163d588f75c6c270106737b5e3b39854a6d105e73fffd1dc611c26b',94,'ready',NULL,NULL,1,NULL,'2026-11-22 03:36:53.500526','2026-11-22 03:36:54.363801');
CREATE TABLE index_states (
	owner TEXT NOT NULL, 
	name TEXT NOT NULL, 
	state JSON NOT NULL, 
	CONSTRAINT pk_index_states PRIMARY KEY (owner, name), 
	CONSTRAINT fk_index_states_owner FOREIGN KEY(owner) REFERENCES users (id) ON DELETE CASCADE
);
INSERT INTO "index_states" VALUES('ann','vectors','{"model": "multilingual-e5-small", "dimension": 384, "fingerprint": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f", "folder": "vectors-9beb52ce"}');
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
INSERT INTO "message_passages" VALUES('8e30f86b061eeaed',1,'4dd0714510bb692c-00000','4dd0714510bb692c','castle.md','dec71aad8b5061eebf513748d5bc89a9b2d4c9d0e82793a2ea4a6928c00fa8b1',NULL,'Castle',0,82,'# Castle

The castle of Aldenburg was built in 1432. Its moat is nine metres deep.',3.00006723403930664062e+00,'{}');
INSERT INTO "message_passages" VALUES('2432be0e5af719ef',1,'48822736dba3d360-00000','48822736dba3d360','등대.md','4a9b598aa163d588f75c6c270106737b5e3b39854a6d105e73fffd1dc611c26b',NULL,'등대',0,39,'# 등대

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
	created DATETIME NOT NULL, 
	CONSTRAINT pk_messages PRIMARY KEY (id), 
	CONSTRAINT fk_messages_conversation_id FOREIGN KEY(conversation_id) REFERENCES conversations (id) ON DELETE CASCADE, 
	CONSTRAINT fk_messages_question_id FOREIGN KEY(question_id) REFERENCES messages (id) ON DELETE CASCADE, 
	CONSTRAINT uq_messages_question_id UNIQUE (question_id)
);
INSERT INTO "messages" VALUES('984428d83e178d1e','39ee80c34bbe2692',1,'user','How deep is the moat of the castle?','how deep is the moat of the castle?','complete',NULL,NULL,NULL,NULL,'{}','2026-11-22 03:36:54.525134');
INSERT INTO "messages" VALUES('8e30f86b061eeaed','39ee80c34bbe2692',2,'assistant','Its moat is nine metres deep. [1]

The castle of Aldenburg was built in 1432. [1]','its moat is nine metres deep. [1]

the castle of aldenburg was built in 1432. [1]','complete','984428d83e178d1e','How deep is the moat of the castle?',NULL,NULL,'{"condense": 0.0, "retrieve": 48.0, "first_token": 83.7, "total": 108.4}','2026-11-22 03:36:54.527646');
INSERT INTO "messages" VALUES('ff09ab8de15c93ae','39ee80c34bbe2692',3,'user','등불은 무엇으로 탔나요?','등불은 무엇으로 탔나요?','complete',NULL,NULL,NULL,NULL,'{}','2026-11-22 03:36:54.815308');
INSERT INTO "messages" VALUES('2432be0e5af719ef','39ee80c34bbe2692',4,'assistant','등불은 고래기름으로 탔다. [1]

등대지기는 해질녘에 등불을 켰다. [1]','등불은 고래기름으로 탔다. [1]

등대지기는 해질녘에 등불을 켰다. [1]','complete','ff09ab8de15c93ae','등불은 무엇으로 탔나요?',NULL,NULL,'{"condense": 0.2, "retrieve": 32.8, "first_token": 88.4, "total": 118.4}','2026-11-22 03:36:54.815954');
CREATE TABLE pages (
	document_id TEXT NOT NULL, 
	number INTEGER NOT NULL, 
	start INTEGER NOT NULL, 
	"end" INTEGER NOT NULL, 
	CONSTRAINT pk_pages PRIMARY KEY (document_id, number), 
	CONSTRAINT fk_pages_document_id FOREIGN KEY(document_id) REFERENCES documents (id) ON DELETE CASCADE
);
CREATE TABLE users (
	id TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	CONSTRAINT pk_users PRIMARY KEY (id)
);
INSERT INTO "users" VALUES('ann','2026-11-22 03:36:45.067314');
CREATE INDEX ix_conversations_owner_updated ON conversations (owner, updated);
CREATE UNIQUE INDEX ix_messages_conversation_id_position ON messages (conversation_id, position);
CREATE UNIQUE INDEX ix_messages_pending ON messages (conversation_id) WHERE state = 'pending';
CREATE UNIQUE INDEX ix_documents_owner_sha256 ON documents (owner, sha256);
CREATE INDEX ix_documents_owner_created ON documents (owner, created);
CREATE INDEX ix_documents_replaces ON documents (replaces);
CREATE UNIQUE INDEX ix_chunks_document_id_position_id ON chunks (document_id, position, id);
COMMIT;
