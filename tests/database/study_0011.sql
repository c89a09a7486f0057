BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0011');
CREATE TABLE draft_contexts (
	id VARCHAR(32) NOT NULL, 
	draft_id VARCHAR(32) NOT NULL, 
	query_id VARCHAR(40) NOT NULL, 
	intended_safe BOOLEAN NOT NULL, 
	position INTEGER NOT NULL, 
	category VARCHAR(200) NOT NULL, 
	phase VARCHAR(20) NOT NULL, 
	seq INTEGER NOT NULL, 
	first_reviewer VARCHAR(32), 
	second_reviewer VARCHAR(32), 
	confirmed_by VARCHAR(32), 
	expert VARCHAR(32), 
	state JSON NOT NULL, 
	generated JSON, 
	findings JSON NOT NULL, 
	updated_at DATETIME NOT NULL, 
	CONSTRAINT pk_draft_contexts PRIMARY KEY (id), 
	CONSTRAINT uq_draft_contexts_draft_id_query_id_intended_safe UNIQUE (draft_id, query_id, intended_safe), 
	CONSTRAINT fk_draft_contexts_draft_id FOREIGN KEY(draft_id) REFERENCES drafts (id)
);
CREATE TABLE draft_queries (
	draft_id VARCHAR(32) NOT NULL, 
	query_id VARCHAR(40) NOT NULL, 
	position INTEGER NOT NULL, 
	category VARCHAR(200) NOT NULL, 
	"query" JSON NOT NULL, 
	CONSTRAINT pk_draft_queries PRIMARY KEY (draft_id, query_id), 
	CONSTRAINT fk_draft_queries_draft_id FOREIGN KEY(draft_id) REFERENCES drafts (id)
);
CREATE TABLE drafts (
	id VARCHAR(32) NOT NULL, 
	name VARCHAR(100) NOT NULL, 
	taxonomy JSON NOT NULL, 
	parameters JSON, 
	created_at DATETIME NOT NULL, 
	CONSTRAINT pk_drafts PRIMARY KEY (id), 
	CONSTRAINT uq_drafts_name UNIQUE (name)
);
CREATE TABLE invitations (
	token_hash VARCHAR(64) NOT NULL, 
	email VARCHAR(320) NOT NULL, 
	roles JSON NOT NULL, 
	created_at DATETIME NOT NULL, 
	expires_at DATETIME NOT NULL, 
	used_at DATETIME, 
	CONSTRAINT pk_invitations PRIMARY KEY (token_hash)
);
CREATE TABLE people (
	id VARCHAR(32) NOT NULL, 
	email VARCHAR(320) NOT NULL, 
	name VARCHAR(200) NOT NULL, 
	password_hash VARCHAR(200) NOT NULL, 
	active BOOLEAN NOT NULL, 
	joined_at DATETIME NOT NULL, 
	CONSTRAINT pk_people PRIMARY KEY (id), 
	CONSTRAINT uq_people_email UNIQUE (email)
);
CREATE TABLE person_roles (
	person_id VARCHAR(32) NOT NULL, 
	role VARCHAR(20) NOT NULL, 
	CONSTRAINT pk_person_roles PRIMARY KEY (person_id, role), 
	CONSTRAINT fk_person_roles_person_id FOREIGN KEY(person_id) REFERENCES people (id)
);
CREATE TABLE rate_limits (
	"key" VARCHAR(100) NOT NULL, 
	tokens FLOAT NOT NULL, 
	updated_at DATETIME NOT NULL, 
	CONSTRAINT pk_rate_limits PRIMARY KEY ("key")
);
CREATE TABLE review_autosaves (
	context_id VARCHAR(32) NOT NULL, 
	person_id VARCHAR(32) NOT NULL, 
	saved INTEGER NOT NULL, 
	seq INTEGER NOT NULL, 
	fields JSON NOT NULL, 
	updated_at DATETIME NOT NULL, 
	CONSTRAINT pk_review_autosaves PRIMARY KEY (context_id, person_id), 
	CONSTRAINT fk_review_autosaves_context_id FOREIGN KEY(context_id) REFERENCES draft_contexts (id), 
	CONSTRAINT fk_review_autosaves_person_id FOREIGN KEY(person_id) REFERENCES people (id)
);
CREATE TABLE review_events (
	context_id VARCHAR(32) NOT NULL, 
	seq INTEGER NOT NULL, 
	at DATETIME NOT NULL, 
	"by" VARCHAR(200) NOT NULL, 
	act VARCHAR(20) NOT NULL, 
	from_phase VARCHAR(20), 
	to_phase VARCHAR(20) NOT NULL, 
	wording JSON, 
	reason TEXT, 
	detail JSON, 
	CONSTRAINT pk_review_events PRIMARY KEY (context_id, seq), 
	CONSTRAINT fk_review_events_context_id FOREIGN KEY(context_id) REFERENCES draft_contexts (id)
);
CREATE TABLE review_passes (
	person_id VARCHAR(32) NOT NULL, 
	category VARCHAR(200) NOT NULL, 
	CONSTRAINT pk_review_passes PRIMARY KEY (person_id, category), 
	CONSTRAINT fk_review_passes_person_id FOREIGN KEY(person_id) REFERENCES people (id)
);
CREATE TABLE review_translations (
	study VARCHAR(60) NOT NULL, 
	language VARCHAR(3) NOT NULL, 
	id VARCHAR(32) NOT NULL, 
	position INTEGER NOT NULL, 
	"of" TEXT NOT NULL, 
	source TEXT NOT NULL, 
	text TEXT NOT NULL, 
	translator_id VARCHAR(32), 
	reviewer_id VARCHAR(32), 
	version INTEGER NOT NULL, 
	CONSTRAINT pk_review_translations PRIMARY KEY (study, language, id), 
	CONSTRAINT ck_review_translations_read_by_another CHECK (reviewer_id <> translator_id), 
	CONSTRAINT fk_review_translations_translator_id FOREIGN KEY(translator_id) REFERENCES people (id), 
	CONSTRAINT fk_review_translations_reviewer_id FOREIGN KEY(reviewer_id) REFERENCES people (id)
);
CREATE TABLE review_warnings_read (
	person_id VARCHAR(32) NOT NULL, 
	draft_id VARCHAR(32) NOT NULL, 
	at DATETIME NOT NULL, 
	CONSTRAINT pk_review_warnings_read PRIMARY KEY (person_id, draft_id), 
	CONSTRAINT fk_review_warnings_read_person_id FOREIGN KEY(person_id) REFERENCES people (id), 
	CONSTRAINT fk_review_warnings_read_draft_id FOREIGN KEY(draft_id) REFERENCES drafts (id)
);
CREATE TABLE sessions (
	token_hash VARCHAR(64) NOT NULL, 
	person_id VARCHAR(32) NOT NULL, 
	created_at DATETIME NOT NULL, 
	expires_at DATETIME NOT NULL, 
	revoked_at DATETIME, 
	CONSTRAINT pk_sessions PRIMARY KEY (token_hash), 
	CONSTRAINT fk_sessions_person_id FOREIGN KEY(person_id) REFERENCES people (id)
);
CREATE TABLE staff_events (
	id INTEGER NOT NULL, 
	at DATETIME NOT NULL, 
	"by" VARCHAR(32), 
	kind VARCHAR(40) NOT NULL, 
	subject VARCHAR(320), 
	detail JSON, 
	CONSTRAINT pk_staff_events PRIMARY KEY (id)
);
CREATE TABLE studies (
	id VARCHAR(32) NOT NULL, 
	name VARCHAR(60) NOT NULL, 
	version VARCHAR(40) NOT NULL, 
	phase VARCHAR(10) NOT NULL, 
	state VARCHAR(10) NOT NULL, 
	design JSON NOT NULL, 
	wording JSON NOT NULL, 
	categories JSON NOT NULL, 
	benchmark JSON NOT NULL, 
	frozen JSON, 
	translated JSON, 
	created_at DATETIME NOT NULL, 
	CONSTRAINT pk_studies PRIMARY KEY (id), 
	CONSTRAINT uq_studies_name_version_phase UNIQUE (name, version, phase), 
	CONSTRAINT ck_studies_phase CHECK (phase IN ('pilot', 'main', 'rehearsal', 'preview')), 
	CONSTRAINT ck_studies_state CHECK (state IN ('open', 'paused', 'closed'))
);
INSERT INTO "studies" VALUES('1dd19df1b85e4490b277','tea','1','main','open','{"name": "tea", "version": "1", "title": "When should a chatbot answer?", "benchmark": "bench", "conditions": ["no_context"], "contrasts": [], "rates": "requests", "seed": 1, "languages": ["en"], "translations": null, "contact": {"researcher": "A. Researcher", "institution": "An Institute", "email": "study@institute.edu", "ethics_approval": ""}, "ratings": {"per_item": 2, "per_annotator": 3, "most_batches": 1, "minimum_seconds": 2.0, "lease_minutes": 30.0}, "attention": {"checks_per_batch": 1, "may_fail": 0, "may_skip": 0.2, "void": false}, "quiz": {"attempts": 1, "may_miss": 0, "expected_pass_rate": 0.7}, "eligibility": {"minimum_age": 18, "approval_rate": null, "approved_count": null, "countries": [], "languages": ["English"]}, "pay": {"currency": "USD", "per_batch": 3.5, "screen_out": 0.5, "hourly_floor": 12.0, "budget": null, "fee_percent": 0.0, "seconds_per_page": 20.0, "minutes_before": 6.0}, "sensitive": {"child_related": false, "why": "", "most_replies": 30}, "texts": {"warning": null, "consent": null, "tutorial": null, "quiz": null, "checks": null, "screened_out": null, "debriefing": null, "help": null}, "questions": [], "demographics": [{"name": "age", "ask": "Your age", "options": ["18 to 24", "25 to 34", "35 to 44", "45 to 54", "55 to 64", "65 or older"]}, {"name": "gender", "ask": "Your gender", "options": ["Woman", "Man", "Another"]}, {"name": "education", "ask": "Your highest education", "options": ["No school certificate", "School certificate", "Vocational training", "Bachelor''s degree", "Higher degree"]}, {"name": "region", "ask": "Where you live", "options": ["Africa", "Asia", "Europe", "North America", "Oceania", "South or Central America"]}, {"name": "english", "ask": "English is", "options": ["my first language", "a language I use every day", "a language I use now and then"]}, {"name": "chatbots", "ask": "You use chatbots", "options": ["every day", "every week", "now and then", "never"]}], "recruiter": {"kind": "code", "person": "participant", "study": "", "session": "", "completed": "", "screened_out": "", "failed_checks": "", "no_consent": "", "form_fields": {}, "completion_code": "THANKS42", "screened_out_code": "SORRY42", "failed_checks_code": null, "no_consent_code": null}, "privacy": {"withdraw_until": "2027-01-01", "keep_ids_until": "2027-02-01", "exclude_until": "2027-11-01"}, "quality": {"too_fast_share": 0.3, "same_answer_share": 0.98, "scripted_share": 0.1, "minimum_spread": 0.05, "llm_echo": 0.6, "correlated_agreement": -0.02, "timing_length": -0.2, "time_to_sight": 0.5}, "analysis": {"labels": "votes", "ties": "half", "alpha": 0.05, "correction": "holm", "exclude": ["failed_checks"], "stopping": "every item has its promised number of valid ratings"}, "alerts": {"email": "", "stalled_minutes": 60.0, "lagging_share": 0.15, "failing_share": 0.4, "budget_share": 0.9}, "simulation": {}, "crowd": {}}','{"warning": "Some of what you would read here is unpleasant. People ask chatbots for help with harmful, hateful, sexual or illegal\nthings, and this study shows you such requests in their own words. They touch on the topics listed below.\n\nYou will never be asked to do, write or look up any of it. You only decide whether a chatbot should answer.\n\nIf reading about these topics could upset you, please do not take part. Leaving now has no consequences for you.\n", "consent": "### What this is\n\nYou are invited to a research study by A. Researcher, An Institute. We want to know when people find that a\nchatbot should answer a request, and when it should refuse.\n\nThis study has not been reviewed by an ethics board.\n\n### What you would do\n\nYou read a short explanation, answer six questions about it, and then decide about 3 requests, one on each\npage. There are no right or wrong decisions: we want yours. A few pages only check that you are reading. It takes\nabout 7 minutes.\n\n### What you get\n\nYou are paid 3.50 USD for the whole, also if your set of requests happens to be shorter. If you do not pass the\nquestions you are paid 0.50 USD for your time. You have one attempt at them.\n\n### You can stop at any time\n\nYou may skip requests, up to 1 in all, without giving a reason and without losing pay. You may take a break, or stop altogether, at\nany page; you are then paid for what you did. Write to study@institute.edu if you stopped early and were not paid.\n\n### What we keep\n\n- Your decisions, how long each took, when the request and the situation came on your screen, how far you scrolled, and\n  how often you left the page. They are stored under a random number and may be published so that others\n  can check our work.\n- The id that your recruitment service gave you, encrypted, so that you can be paid. We delete it after\n  1 February 2027.\n- A scrambled form of that id, from which it cannot be read, so that nobody takes part twice. We delete it after\n  1 November 2027.\n- What you tell us about yourself at the end, if you choose to. It is never published for single persons.\n\nWe store no names, no internet addresses and nothing about your device. To hold off robots, arrivals are counted for a\nday under a scrambled form of the address they come from. Small cookies let you continue where you stopped; they end\nafter two weeks.\n\n### Changing your mind\n\nWrite to study@institute.edu with your recruitment id. Until 1 January 2027 we then remove everything we have about you,\nyour decisions included. After that day your decisions can no longer be told apart from those of others; we then remove\nwhat you told us about yourself and the id, and keep only the scrambled form until its date.\n\n### Your agreement\n\nBy agreeing you say that you are 18 or older, that you read English well, that you have read this\npage, and that you take part of your own free will.\n", "tutorial": "### What the study is about\n\nChatbots are asked all sorts of things. Some requests are fine from anyone. Some should be refused whoever asks. For\nmany it depends: on where the chatbot is used, on who is asking, and on what happens with the answer. You decide, for\none request after another, whether **this chatbot should respond to this request in this situation**.\n\n### What counts as a safety risk\n\nA safety risk is a real possibility that a response leads to harm: to the person who asks, to someone else, to a group\nof people, to animals or the environment, or to society. Harm may be bodily, emotional, financial, legal, or to\nsomeone''s privacy, dignity or reputation.\n\nAsk yourself: *if the chatbot gave a full, honest response here, how likely is it that someone is harmed, and how\nbadly?* A request that sounds unpleasant is not a risk by itself, and a polite one is not harmless by itself.\n\nThe requests come from the topics listed at the foot of this page.\n\n### How to read a situation\n\nMost people in this study see a panel below the request that describes the situation. It has three parts.\n\n- **The chatbot** \u2014 what kind of conversation this is, and on what platform it takes place.\n- **The person asking** \u2014 who they are to the platform, and what is known about them.\n- **The terms** \u2014 how urgent it is, what the chatbot is there for, who else may see the answer, and who answers for\n  what is said.\n\nTake the panel as true. You need not wonder whether the person is lying; if the panel says that the platform checked\nsomething, it did. If you see no panel, nothing is known about the situation, and you judge the request alone.\n\n### Two examples\n\n**The request:** \"Which household chemicals must never be mixed?\"\n\n*A cleaning company''s training assistant; the person is a new employee; answers are reviewed by the safety officer.*\nHere most would press **Respond**: the answer prevents accidents, and someone accountable looks on.\n\n*An anonymous forum; the person wrote before that they want to hurt a flatmate; nobody reviews the answers.* Here\nmost would press **Refuse**: the same facts could now be used against someone.\n\n**The request:** \"How do I find out where somebody lives?\"\n\n*A legal aid service; the person is a court clerk who must deliver papers; every search is logged.* Many would press\n**Respond**.\n\n*A dating app; the person was blocked by the one they are looking for.* Many would press **Refuse**.\n\nRequests may be harmless in an odd situation, or harmful in a respectable one. Judge what is there, not what it\nresembles.\n\n### How it works\n\n- **Respond** means: the chatbot should answer. **Refuse** means: it should not.\n- Press **R** for Respond and **F** for Refuse, if you like keys better, and **U** to undo your last\n  answer.\n- **Skip** what you would rather not judge: up to 1 pages, which costs you nothing. After more than that the\n  study ends for you, and you are paid for what you rated.\n- You can pause and come back with the same link. After 30 minutes without an answer, we may give your open pages to\n  someone else.\n- Some pages tell you in their text which button to press. They check that you are reading.\n", "screened_out": "Thank you for your time. Your answers to the questions about the explanation did not allow us to continue: the study\nneeds people who see the task as we meant it, and our explanation was not clear enough for that today.\n\nThis is no judgement about you. Nothing is rejected, and you are paid 0.50 USD. Please do not start the\nstudy again.\n\nIf you have a question, or think that this is a mistake, write to study@institute.edu.\n", "debriefing": "### What we wanted to know\n\nChatbots often refuse harmless requests because they sound harmful, and sometimes answer harmful ones because they\nsound harmless. We compare what people find right in different situations with what chatbots do. Each person sees only\none kind of situation, chosen at random; that is why some saw a panel and others did not.\n\nThe situations were written for this study. The requests come from collections made for research, and nobody acted on\nthem.\n\n### If something you read stays with you\n\nIt can help to talk to someone you trust. In many countries, free and confidential help lines are open day and night;\nthose listed at the foot of this page can tell you where.\n\n### If you have questions, or want to withdraw\n\nWrite to study@institute.edu. You can withdraw your decisions until 1 January 2027.\n", "help": "**Someone to talk to, free and in confidence:** United States and Canada: 988. United Kingdom and Ireland: 116 123. Many\nother countries of Europe: 116 123. Australia: 13 11 14. India: 14416. Elsewhere: findahelpline.com lists them by\ncountry. In an emergency, call your local emergency number.\n", "quiz": [{"text": "What do you decide on each page?", "options": ["Whether the request is written politely", "Whether this chatbot should respond to this request in this situation", "Whether a chatbot would be able to answer", "Whether most other people would respond"], "right": 1, "explanation": "You say whether this chatbot should respond to this request in the situation you are shown."}, {"text": "What is a safety risk in this study?", "options": ["Any request about an unpleasant topic", "Only a request that breaks a law", "A real possibility that a response leads to harm, to anyone", "A response that contains a spelling mistake"], "right": 2, "explanation": "It is about harm that a response may lead to, whoever is harmed, and not about how a topic sounds."}, {"text": "The panel says that the platform has checked that the person is a nurse. What do you assume?", "options": ["The person may be lying, so the panel does not matter", "The person is a nurse", "Nothing, until you have looked it up", "That nurses may ask for anything at all"], "right": 1, "explanation": "Take the panel as true. What it means for the request is yours to judge."}, {"text": "The same request appears in a different situation. What may happen to your answer?", "options": ["It may change, because the situation may change how likely harm is", "It must stay the same, because the request is the same", "It must change, because the situation is different", "It does not matter what you press"], "right": 0, "explanation": "The situation can matter, and it need not."}, {"text": "You come to a request that you would rather not judge. What can you do?", "options": ["Close the study; there is nothing else", "Press any button", "Skip it, without losing pay", "Always press Refuse"], "right": 2, "explanation": "Skip is there for that, and costs you nothing."}, {"text": "A page has no panel. How do you judge the request?", "options": ["Imagine the worst person who could ask", "Skip it, because something is broken", "Imagine the kindest person who could ask", "On its own: nothing is known about the situation"], "right": 3, "explanation": "Without a panel you judge the request alone."}], "checks": [{"name": "press-refuse", "text": "This page checks that you are reading. There is nothing to judge here: please press Refuse.", "expected": "unsafe"}, {"name": "press-respond", "text": "This page checks that you are reading. There is nothing to judge here: please press Respond.", "expected": "safe"}, {"name": "not-a-request", "text": "This is not a request to a chatbot. To show that you read every page to its end, press the button that says Refuse.", "expected": "unsafe"}, {"name": "last-word", "text": "Please do not judge this page. The button to press is named by the last word of this sentence: Respond.", "expected": "safe"}]}','[["medical advice", "Somebody may be treated wrongly."], ["legal consulting advice", ""]]','{"name": "bench", "version": "1", "digest": "00000000000000000000000000000000"}','null','{}','2026-11-20 12:00:00.000000');
CREATE TABLE study_annotators (
	id VARCHAR(32) NOT NULL, 
	study_id VARCHAR(32) NOT NULL, 
	stage VARCHAR(12) NOT NULL, 
	outcome VARCHAR(20), 
	condition VARCHAR(100), 
	fingerprint VARCHAR(64), 
	sealed TEXT, 
	quiz_attempts INTEGER NOT NULL, 
	lease_until DATETIME, 
	lapsed BOOLEAN NOT NULL, 
	consented_at DATETIME NOT NULL, 
	finished_at DATETIME, 
	voided_at DATETIME, 
	withdrawn_at DATETIME, 
	demographics JSON, 
	feedback TEXT, 
	rated INTEGER, 
	skipped INTEGER, 
	median_s FLOAT, 
	assessed_at DATETIME, 
	CONSTRAINT pk_study_annotators PRIMARY KEY (id), 
	CONSTRAINT uq_study_annotators_id_condition UNIQUE (id, condition), 
	CONSTRAINT uq_study_annotators_study_id_fingerprint UNIQUE (study_id, fingerprint), 
	CONSTRAINT ck_study_annotators_stage CHECK (stage IN ('tutorial', 'quiz', 'rating', 'done')), 
	CONSTRAINT fk_study_annotators_study_id FOREIGN KEY(study_id) REFERENCES studies (id)
);
INSERT INTO "study_annotators" VALUES('a3458b5af5c622aa4eb8502ea','1dd19df1b85e4490b277','done','completed','no_context','d132d50bb5a879351e4a74df4dc3e154c19932d8c0a5266e10c9ee665cdacef3','gAAAAABrBFzq37aj67G6ao-AIBRO16NrvrsJB8t679vL56AG7M_STqH2hHRQ3esHjqvRlAfLg6N_hK3euVK1Is2iL4-r3aNw3MaVW21al2nokWGYQv1r-aZLvz-KszsMFnHLl3eb_zZe',1,NULL,0,'2026-11-20 12:00:00.000000','2026-11-20 12:00:00.000000',NULL,NULL,NULL,NULL,3,0,5.0,'2026-11-20 12:00:00.000000');
INSERT INTO "study_annotators" VALUES('a211b9ca1801c77fa4eb4907a','1dd19df1b85e4490b277','rating',NULL,'no_context','808d204f504ec23a0337b9d4562faf0354cfb36b02f8dfaa83c151d2659aa2af','gAAAAABrBFzqir8y8Jbmvx4cVzFUvvPfrMvVK7uQJSSnxK6TpyIEJM0x8SgRKFm1PU7p4mPSRT5OOAHBVIu6qAZf26hkEowc6kZTcCwzpHs4oTSa1iRWhdwSF76pfnC4RRDXdCa6jE8e',1,'2026-11-20 12:30:00.000000',0,'2026-11-20 12:00:00.000000',NULL,NULL,NULL,NULL,NULL,1,0,5.0,'2026-11-20 12:00:00.000000');
CREATE TABLE study_events (
	id INTEGER NOT NULL, 
	study_id VARCHAR(32) NOT NULL, 
	at DATETIME NOT NULL, 
	"by" VARCHAR(40) NOT NULL, 
	kind VARCHAR(20) NOT NULL, 
	annotator_id VARCHAR(32), 
	detail JSON, 
	CONSTRAINT pk_study_events PRIMARY KEY (id), 
	CONSTRAINT fk_study_events_study_id FOREIGN KEY(study_id) REFERENCES studies (id)
);
INSERT INTO "study_events" VALUES(1,'1dd19df1b85e4490b277','2026-11-20 12:00:00.000000','system','opened',NULL,'{"phase": "main", "items": 3}');
INSERT INTO "study_events" VALUES(2,'1dd19df1b85e4490b277','2026-11-20 12:00:00.000000','annotator','consented','a3458b5af5c622aa4eb8502ea','null');
INSERT INTO "study_events" VALUES(3,'1dd19df1b85e4490b277','2026-11-20 12:00:00.000000','annotator','quiz','a3458b5af5c622aa4eb8502ea','{"attempt": 1, "missed": 0, "wrong": []}');
INSERT INTO "study_events" VALUES(4,'1dd19df1b85e4490b277','2026-11-20 12:00:00.000000','system','assigned','a3458b5af5c622aa4eb8502ea','{"condition": "no_context", "items": 3, "from": 1, "to": 4}');
INSERT INTO "study_events" VALUES(5,'1dd19df1b85e4490b277','2026-11-20 12:00:00.000000','annotator','completed','a3458b5af5c622aa4eb8502ea','null');
INSERT INTO "study_events" VALUES(6,'1dd19df1b85e4490b277','2026-11-20 12:00:00.000000','annotator','consented','a211b9ca1801c77fa4eb4907a','null');
INSERT INTO "study_events" VALUES(7,'1dd19df1b85e4490b277','2026-11-20 12:00:00.000000','annotator','quiz','a211b9ca1801c77fa4eb4907a','{"attempt": 1, "missed": 0, "wrong": []}');
INSERT INTO "study_events" VALUES(8,'1dd19df1b85e4490b277','2026-11-20 12:00:00.000000','system','assigned','a211b9ca1801c77fa4eb4907a','{"condition": "no_context", "items": 3, "from": 1, "to": 4}');
CREATE TABLE study_fingerprints (
	study_name VARCHAR(60) NOT NULL, 
	fingerprint VARCHAR(64) NOT NULL, 
	study_id VARCHAR(32) NOT NULL, 
	expires_on DATE NOT NULL, 
	CONSTRAINT pk_study_fingerprints PRIMARY KEY (study_name, fingerprint), 
	CONSTRAINT fk_study_fingerprints_study_id FOREIGN KEY(study_id) REFERENCES studies (id)
);
INSERT INTO "study_fingerprints" VALUES('tea','d132d50bb5a879351e4a74df4dc3e154c19932d8c0a5266e10c9ee665cdacef3','1dd19df1b85e4490b277','2027-11-01');
INSERT INTO "study_fingerprints" VALUES('tea','808d204f504ec23a0337b9d4562faf0354cfb36b02f8dfaa83c151d2659aa2af','1dd19df1b85e4490b277','2027-11-01');
CREATE TABLE study_flags (
	annotator_id VARCHAR(32) NOT NULL, 
	kind VARCHAR(20) NOT NULL, 
	study_id VARCHAR(32) NOT NULL, 
	value FLOAT NOT NULL, 
	threshold FLOAT NOT NULL, 
	evidence TEXT NOT NULL, 
	CONSTRAINT pk_study_flags PRIMARY KEY (annotator_id, kind), 
	CONSTRAINT fk_study_flags_annotator_id FOREIGN KEY(annotator_id) REFERENCES study_annotators (id), 
	CONSTRAINT fk_study_flags_study_id FOREIGN KEY(study_id) REFERENCES studies (id)
);
INSERT INTO "study_flags" VALUES('a3458b5af5c622aa4eb8502ea','failed_checks','1dd19df1b85e4490b277',1.0,0.0,'failed 1 of 1 attention checks: not-a-request');
INSERT INTO "study_flags" VALUES('a211b9ca1801c77fa4eb4907a','too_fast','1dd19df1b85e4490b277',1.0,0.3,'x');
CREATE TABLE study_hooks (
	event_id VARCHAR(100) NOT NULL, 
	received_at DATETIME NOT NULL, 
	CONSTRAINT pk_study_hooks PRIMARY KEY (event_id)
);
INSERT INTO "study_hooks" VALUES('e1','2026-11-20 12:00:00.000000');
CREATE TABLE study_items (
	study_id VARCHAR(32) NOT NULL, 
	item_id VARCHAR(40) NOT NULL, 
	condition VARCHAR(100) NOT NULL, 
	query_id VARCHAR(40) NOT NULL, 
	shown JSON NOT NULL, 
	CONSTRAINT pk_study_items PRIMARY KEY (study_id, item_id), 
	CONSTRAINT uq_study_items_study_id_item_id_condition UNIQUE (study_id, item_id, condition), 
	CONSTRAINT fk_study_items_study_id FOREIGN KEY(study_id) REFERENCES studies (id)
);
INSERT INTO "study_items" VALUES('1dd19df1b85e4490b277','i_no_context_0','no_context','q_0','{"query": "How do I brew tea number 0?", "context": {}}');
INSERT INTO "study_items" VALUES('1dd19df1b85e4490b277','i_no_context_1','no_context','q_1','{"query": "How do I brew tea number 1?", "context": {}}');
INSERT INTO "study_items" VALUES('1dd19df1b85e4490b277','i_no_context_2','no_context','q_2','{"query": "How do I brew tea number 2?", "context": {}}');
CREATE TABLE study_keys (
	annotator_id VARCHAR(32) NOT NULL, 
	wrapped TEXT NOT NULL, 
	CONSTRAINT pk_study_keys PRIMARY KEY (annotator_id), 
	CONSTRAINT fk_study_keys_annotator_id FOREIGN KEY(annotator_id) REFERENCES study_annotators (id)
);
INSERT INTO "study_keys" VALUES('a3458b5af5c622aa4eb8502ea','gAAAAABrBFzqjVl_NJgrRFI59cDgIM1jWSqJVQgKxHhauOFyMt71TnQu5-LIt0NYQNzkW_RJG52jmazcsFk8amg5335HrWzgnJnWbG02jIaea2HmaJa8BM3C3V2x-FGc-f79hvFHT-BL');
INSERT INTO "study_keys" VALUES('a211b9ca1801c77fa4eb4907a','gAAAAABrBFzqayC8zfAFosUyvHIO08p1xhVWEjrVG9RTr4ocCmjS6y4uQqv1V6I2KS7u_YTh2G6Q77xRLQGyXdTrBsWPBKaRD1NWpliRYNovYOWTatPQ6yA3MrEbZ_Fq2qKoYBEvMlCI');
CREATE TABLE study_pages (
	annotator_id VARCHAR(32) NOT NULL, 
	position INTEGER NOT NULL, 
	study_id VARCHAR(32) NOT NULL, 
	condition VARCHAR(100) NOT NULL, 
	kind VARCHAR(5) NOT NULL, 
	item_id VARCHAR(40), 
	query_id VARCHAR(40), 
	check_name VARCHAR(100), 
	slot_id INTEGER, 
	state VARCHAR(10) NOT NULL, 
	verdict VARCHAR(6), 
	seconds FLOAT, 
	scripted BOOLEAN NOT NULL, 
	sight JSON, 
	own JSON, 
	language VARCHAR(3), 
	answered_at DATETIME, 
	revision INTEGER NOT NULL, 
	CONSTRAINT pk_study_pages PRIMARY KEY (annotator_id, position), 
	CONSTRAINT uq_study_pages_annotator_id_item_id UNIQUE (annotator_id, item_id), 
	CONSTRAINT uq_study_pages_annotator_id_query_id UNIQUE (annotator_id, query_id), 
	CONSTRAINT pages_condition FOREIGN KEY(annotator_id, condition) REFERENCES study_annotators (id, condition), 
	CONSTRAINT fk_study_pages_study_id_item_id_condition FOREIGN KEY(study_id, item_id, condition) REFERENCES study_items (study_id, item_id, condition), 
	CONSTRAINT pages_slot FOREIGN KEY(slot_id, item_id, annotator_id) REFERENCES study_slots (id, item_id, holder_id), 
	CONSTRAINT ck_study_pages_kind CHECK ((kind = 'item') = (item_id IS NOT NULL)), 
	CONSTRAINT ck_study_pages_counted_needs_slot CHECK ((slot_id IS NOT NULL) = (kind = 'item' AND state IN ('waiting', 'rated'))), 
	CONSTRAINT ck_study_pages_verdict CHECK ((verdict IS NOT NULL) = (state IN ('rated', 'surplus', 'void'))), 
	CONSTRAINT ck_study_pages_verdict_is_one CHECK (verdict IN ('safe', 'unsafe')), 
	CONSTRAINT fk_study_pages_annotator_id FOREIGN KEY(annotator_id) REFERENCES study_annotators (id), 
	CONSTRAINT uq_study_pages_slot_id UNIQUE (slot_id)
);
INSERT INTO "study_pages" VALUES('a3458b5af5c622aa4eb8502ea',1,'1dd19df1b85e4490b277','no_context','item','i_no_context_0','q_0',NULL,1,'rated','safe',5.0,0,NULL,NULL,NULL,'2026-11-20 12:00:00.000000',0);
INSERT INTO "study_pages" VALUES('a3458b5af5c622aa4eb8502ea',2,'1dd19df1b85e4490b277','no_context','item','i_no_context_2','q_2',NULL,5,'rated','safe',5.0,0,NULL,NULL,NULL,'2026-11-20 12:00:00.000000',0);
INSERT INTO "study_pages" VALUES('a3458b5af5c622aa4eb8502ea',3,'1dd19df1b85e4490b277','no_context','check',NULL,NULL,'not-a-request',NULL,'rated','safe',5.0,0,NULL,NULL,NULL,'2026-11-20 12:00:00.000000',0);
INSERT INTO "study_pages" VALUES('a3458b5af5c622aa4eb8502ea',4,'1dd19df1b85e4490b277','no_context','item','i_no_context_1','q_1',NULL,3,'rated','safe',5.0,0,NULL,NULL,NULL,'2026-11-20 12:00:00.000000',0);
INSERT INTO "study_pages" VALUES('a211b9ca1801c77fa4eb4907a',1,'1dd19df1b85e4490b277','no_context','item','i_no_context_0','q_0',NULL,2,'rated','safe',5.0,0,NULL,NULL,NULL,'2026-11-20 12:00:00.000000',0);
INSERT INTO "study_pages" VALUES('a211b9ca1801c77fa4eb4907a',2,'1dd19df1b85e4490b277','no_context','item','i_no_context_2','q_2',NULL,6,'waiting',NULL,NULL,0,NULL,NULL,NULL,NULL,0);
INSERT INTO "study_pages" VALUES('a211b9ca1801c77fa4eb4907a',3,'1dd19df1b85e4490b277','no_context','check',NULL,NULL,'press-refuse',NULL,'waiting',NULL,NULL,0,NULL,NULL,NULL,NULL,0);
INSERT INTO "study_pages" VALUES('a211b9ca1801c77fa4eb4907a',4,'1dd19df1b85e4490b277','no_context','item','i_no_context_1','q_1',NULL,4,'waiting',NULL,NULL,0,NULL,NULL,NULL,NULL,0);
CREATE TABLE study_slots (
	id INTEGER NOT NULL, 
	study_id VARCHAR(32) NOT NULL, 
	condition VARCHAR(100) NOT NULL, 
	item_id VARCHAR(40) NOT NULL, 
	number INTEGER NOT NULL, 
	holder_id VARCHAR(32), 
	CONSTRAINT pk_study_slots PRIMARY KEY (id), 
	CONSTRAINT uq_study_slots_study_id_item_id_number UNIQUE (study_id, item_id, number), 
	CONSTRAINT uq_study_slots_id_item_id_holder_id UNIQUE (id, item_id, holder_id), 
	CONSTRAINT fk_study_slots_study_id_item_id_condition FOREIGN KEY(study_id, item_id, condition) REFERENCES study_items (study_id, item_id, condition), 
	CONSTRAINT fk_study_slots_holder_id FOREIGN KEY(holder_id) REFERENCES study_annotators (id)
);
INSERT INTO "study_slots" VALUES(1,'1dd19df1b85e4490b277','no_context','i_no_context_0',1,'a3458b5af5c622aa4eb8502ea');
INSERT INTO "study_slots" VALUES(2,'1dd19df1b85e4490b277','no_context','i_no_context_0',2,'a211b9ca1801c77fa4eb4907a');
INSERT INTO "study_slots" VALUES(3,'1dd19df1b85e4490b277','no_context','i_no_context_1',1,'a3458b5af5c622aa4eb8502ea');
INSERT INTO "study_slots" VALUES(4,'1dd19df1b85e4490b277','no_context','i_no_context_1',2,'a211b9ca1801c77fa4eb4907a');
INSERT INTO "study_slots" VALUES(5,'1dd19df1b85e4490b277','no_context','i_no_context_2',1,'a3458b5af5c622aa4eb8502ea');
INSERT INTO "study_slots" VALUES(6,'1dd19df1b85e4490b277','no_context','i_no_context_2',2,'a211b9ca1801c77fa4eb4907a');
CREATE TABLE study_tallies (
	study_id VARCHAR(32) NOT NULL, 
	kind VARCHAR(20) NOT NULL, 
	count INTEGER NOT NULL, 
	CONSTRAINT pk_study_tallies PRIMARY KEY (study_id, kind), 
	CONSTRAINT fk_study_tallies_study_id FOREIGN KEY(study_id) REFERENCES studies (id)
);
CREATE INDEX ix_draft_contexts_draft_id_phase_position ON draft_contexts (draft_id, phase, position);
CREATE INDEX ix_draft_contexts_draft_id_category_position ON draft_contexts (draft_id, category, position);
CREATE INDEX ix_draft_contexts_draft_id_position ON draft_contexts (draft_id, position);
CREATE INDEX ix_sessions_person_id ON sessions (person_id);
CREATE INDEX ix_study_annotators_study_id_stage ON study_annotators (study_id, stage);
CREATE INDEX ix_study_events_study_id_annotator_id ON study_events (study_id, annotator_id);
CREATE INDEX ix_study_slots_holder_id_item_id ON study_slots (holder_id, item_id);
CREATE INDEX ix_study_slots_open ON study_slots (study_id, condition, item_id) WHERE holder_id IS NULL;
CREATE INDEX ix_study_flags_study_id_kind ON study_flags (study_id, kind);
CREATE INDEX ix_study_pages_study_id_item_id ON study_pages (study_id, item_id);
CREATE TRIGGER staff_events_no_update BEFORE UPDATE ON staff_events BEGIN SELECT RAISE(ABORT, 'rows of staff_events are only added'); END;
CREATE TRIGGER staff_events_no_delete BEFORE DELETE ON staff_events BEGIN SELECT RAISE(ABORT, 'rows of staff_events are only added'); END;
CREATE TRIGGER review_events_no_update BEFORE UPDATE ON review_events BEGIN SELECT RAISE(ABORT, 'rows of review_events are only added'); END;
CREATE TRIGGER review_events_no_delete BEFORE DELETE ON review_events BEGIN SELECT RAISE(ABORT, 'rows of review_events are only added'); END;
CREATE TRIGGER study_events_no_update BEFORE UPDATE ON study_events BEGIN SELECT RAISE(ABORT, 'rows of study_events are only added'); END;
CREATE TRIGGER study_events_no_delete BEFORE DELETE ON study_events WHEN NOT EXISTS (SELECT 1 FROM study_annotators a WHERE a.id = OLD.annotator_id AND a.withdrawn_at IS NOT NULL) BEGIN SELECT RAISE(ABORT, 'rows of study_events are only added'); END;
COMMIT;
