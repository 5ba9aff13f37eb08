SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.discreet_accounts (
    id integer NOT NULL,
    name text NOT NULL,
    epsilon text NOT NULL,
    delta text NOT NULL,
    unit text NOT NULL,
    view text NOT NULL,
    opened text NOT NULL,
    who text NOT NULL
);
CREATE SEQUENCE public.discreet_accounts_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.discreet_accounts_id_seq OWNED BY public.discreet_accounts.id;
CREATE TABLE public.discreet_book (
    version integer NOT NULL
);
CREATE SEQUENCE public.discreet_book_version_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.discreet_book_version_seq OWNED BY public.discreet_book.version;
CREATE TABLE public.discreet_chain (
    number integer NOT NULL,
    kind text NOT NULL,
    key text NOT NULL,
    head text NOT NULL
);
CREATE TABLE public.discreet_fingerprints (
    fingerprint text NOT NULL,
    account integer NOT NULL,
    linked text NOT NULL
);
CREATE TABLE public.discreet_head (
    id integer NOT NULL,
    number integer NOT NULL,
    head text NOT NULL,
    CONSTRAINT discreet_head_id_check CHECK ((id = 1))
);
CREATE TABLE public.discreet_spends (
    id integer NOT NULL,
    account integer NOT NULL,
    counted boolean NOT NULL,
    state text NOT NULL,
    loss text NOT NULL,
    mechanism text NOT NULL,
    parameters text NOT NULL,
    guarantee text NOT NULL,
    release text,
    reserved_at text NOT NULL,
    settled_at text,
    who text NOT NULL,
    saved_at text,
    CONSTRAINT discreet_spends_state_check CHECK ((state = ANY (ARRAY['reserved'::text, 'settled'::text])))
);
CREATE SEQUENCE public.discreet_spends_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.discreet_spends_id_seq OWNED BY public.discreet_spends.id;
ALTER TABLE ONLY public.discreet_accounts ALTER COLUMN id SET DEFAULT nextval('public.discreet_accounts_id_seq'::regclass);
ALTER TABLE ONLY public.discreet_book ALTER COLUMN version SET DEFAULT nextval('public.discreet_book_version_seq'::regclass);
ALTER TABLE ONLY public.discreet_spends ALTER COLUMN id SET DEFAULT nextval('public.discreet_spends_id_seq'::regclass);
INSERT INTO public.discreet_accounts VALUES (1, 'films', '10', '1/1000000', 'user/add-remove', 'basic', '2026-11-01T00:00:00Z', 'ann@desk');
INSERT INTO public.discreet_accounts VALUES (2, 'games', '2', '0', 'record/add-remove', 'basic', '2026-11-01T00:00:00Z', 'ann@desk');
INSERT INTO public.discreet_book VALUES (2);
INSERT INTO public.discreet_chain VALUES (1, 'account', '1', '4d7a31197ed80fcd913cb34684eff7042181493290dc8bd18d2b4239b3cac9ae');
INSERT INTO public.discreet_chain VALUES (2, 'fingerprint', 'films', 'f6c797df628379e13469040fe58ff13db0d0e902bd69b3c6ee95da0ac8769773');
INSERT INTO public.discreet_chain VALUES (3, 'account', '2', 'da95734e48679f2a68a48ef90a18b7d8ef20be35aafd287d7862ee2f1ba285b4');
INSERT INTO public.discreet_chain VALUES (4, 'fingerprint', 'games', 'eda18f105395530eaa15bde6ebbe44be8be97805f24fb4afe295e3749e08f146');
INSERT INTO public.discreet_chain VALUES (5, 'fingerprint', 'films of tomorrow', 'faeeca6fbdbad9012a6303a4829da24a86ec9efa2dda1956b68563ace66a6ecd');
INSERT INTO public.discreet_chain VALUES (6, 'reserved', '1', '3d39829b087680e42152bcb4dcb85c52676a832109174b1573d5fb90f4a07f6e');
INSERT INTO public.discreet_chain VALUES (7, 'settled', '1', '2696f0f58b59b242847cf05a11e5cf05d2e913a49ca9d194a0f7368c12dfc571');
INSERT INTO public.discreet_chain VALUES (8, 'saved', '1', '834bffb759d7a4d04148d6839c27e5822342fd6160155ec29f7223084c5315cf');
INSERT INTO public.discreet_chain VALUES (9, 'reserved', '2', '4998c6494320f80e6c6e770405bb3a6809ab995f9a5ee1e7b9fd1f6f2a85380f');
INSERT INTO public.discreet_chain VALUES (10, 'settled', '2', '0281afeaafa3528a8e0c19ed05f689213811cd80110a35a1eb5b441b9d02dcee');
INSERT INTO public.discreet_chain VALUES (11, 'reserved', '3', 'b46596a7effb15817a0cd4cdd26b72541bb4f6cb35a803aca5fd08e3f0f2c20a');
INSERT INTO public.discreet_chain VALUES (12, 'settled', '3', '93ecc96a80f469e4a0a3ced253f794148a0c687c89704005d9f897e5158f4e25');
INSERT INTO public.discreet_chain VALUES (13, 'saved', '3', 'f57c2962d7f90dc29d87312d1559043e2f527797e3f702779c9481dedd31d15a');
INSERT INTO public.discreet_chain VALUES (14, 'reserved', '4', 'b50e7a9ae0186179a1c343d7cc79ecb9767e99c59b9e185bef7d2c073e342f18');
INSERT INTO public.discreet_chain VALUES (15, 'settled', '4', '1bd6b928ecdfe80b3a2c08ee835347b57be0f035400fd41fa534c3635c68e76e');
INSERT INTO public.discreet_chain VALUES (16, 'reserved', '5', '4dd9b81122b26978b2e09e97e27e338094f0d8712bc3262cbbaf14b869d885dc');
INSERT INTO public.discreet_chain VALUES (17, 'settled', '5', 'cf45467afa42a6a299168fc3815147c6d8b237802db362db04ab38fb98624c9c');
INSERT INTO public.discreet_chain VALUES (18, 'saved', '5', '56794cc72ffcdd8340c23335aa10b5e4b2ef7e1ac032cf75370f99b81b299526');
INSERT INTO public.discreet_chain VALUES (19, 'reserved', '6', 'f4bfa6e384f2da7c55b34854934ff90f48ee5676dbe4a56ef77ecb710ac67608');
INSERT INTO public.discreet_chain VALUES (20, 'settled', '6', '47bb5e9dec7b6c2d439ad153b74dca68b069d7bb90f3f72fb52f331542d248a6');
INSERT INTO public.discreet_chain VALUES (21, 'reserved', '7', 'b34573b4e4141f947bc034730224855e2da6a68c881842777edbd7252efa9d84');
INSERT INTO public.discreet_chain VALUES (22, 'settled', '7', '5d644a7cd1b733751549b896e19502f042fcd7e26a4c35fa58e5c97f5f74cd4c');
INSERT INTO public.discreet_chain VALUES (23, 'saved', '7', '2bb4d96f0922e401215e6b54c2d71bb61741217519d4461b17c1f8af1990b7e8');
INSERT INTO public.discreet_chain VALUES (24, 'reserved', '8', 'bcd166e9fd353ad34fef6b3c25f9965bc840d738d520aa1e9048bdbbef0bd16e');
INSERT INTO public.discreet_chain VALUES (25, 'settled', '8', '6a1a1f3a08bdcc60483cd4c1d6905547dce0dcfba7c21dbda28aab1959cc85bd');
INSERT INTO public.discreet_chain VALUES (26, 'reserved', '9', 'bc4940ae2a6b08f5eb64dbcf794b3ed0278d473db6d0c54d5846d5462e55e04b');
INSERT INTO public.discreet_fingerprints VALUES ('films', 1, '2026-11-01T00:00:00Z');
INSERT INTO public.discreet_fingerprints VALUES ('games', 2, '2026-11-01T00:00:00Z');
INSERT INTO public.discreet_fingerprints VALUES ('films of tomorrow', 1, '2026-11-01T00:00:00Z');
INSERT INTO public.discreet_head VALUES (1, 26, 'bc4940ae2a6b08f5eb64dbcf794b3ed0278d473db6d0c54d5846d5462e55e04b');
INSERT INTO public.discreet_spends VALUES (1, 1, true, 'settled', '{"epsilon": "1/2", "kind": "pure"}', 'test', '{"n": 1}', '{"loss": {"kind": "pure", "epsilon": "1/2"}, "unit": {"what": "user", "relation": "add-remove", "size": 1}, "standing": "PROVED", "basis": "a theorem", "subject": "noisy counts", "caps": [], "not_covered": [], "joint": false, "sentence": "PROVED: \u03b5 = 0.5 for the whole history of one user, present or absent; released: noisy counts"}', 'release-1', '2026-11-01T00:00:00Z', '2026-11-01T00:00:00Z', 'ann@desk', '2026-11-01T00:00:00Z');
INSERT INTO public.discreet_spends VALUES (2, 1, true, 'settled', '{"epsilon": "1/3", "kind": "pure"}', 'test', '{"n": 2}', '{"loss": {"kind": "pure", "epsilon": "1/3"}, "unit": {"what": "user", "relation": "add-remove", "size": 1}, "standing": "PROVED", "basis": "a theorem", "subject": "noisy counts", "caps": [], "not_covered": [], "joint": false, "sentence": "PROVED: \u03b5 = 1/3 for the whole history of one user, present or absent; released: noisy counts"}', 'release-2', '2026-11-01T00:00:00Z', '2026-11-01T00:00:00Z', 'ann@desk', NULL);
INSERT INTO public.discreet_spends VALUES (3, 1, true, 'settled', '{"epsilon": "1/4", "kind": "pure"}', 'test', '{"n": 3}', '{"loss": {"kind": "pure", "epsilon": "1/4"}, "unit": {"what": "user", "relation": "add-remove", "size": 1}, "standing": "PROVED", "basis": "a theorem", "subject": "noisy counts", "caps": [], "not_covered": [], "joint": false, "sentence": "PROVED: \u03b5 = 0.25 for the whole history of one user, present or absent; released: noisy counts"}', 'release-3', '2026-11-01T00:00:00Z', '2026-11-01T00:00:00Z', 'ann@desk', '2026-11-01T00:00:00Z');
INSERT INTO public.discreet_spends VALUES (4, 1, true, 'settled', '{"epsilon": "1/5", "kind": "pure"}', 'test', '{"n": 4}', '{"loss": {"kind": "pure", "epsilon": "1/5"}, "unit": {"what": "user", "relation": "add-remove", "size": 1}, "standing": "PROVED", "basis": "a theorem", "subject": "noisy counts", "caps": [], "not_covered": [], "joint": false, "sentence": "PROVED: \u03b5 = 0.2 for the whole history of one user, present or absent; released: noisy counts"}', 'release-4', '2026-11-01T00:00:00Z', '2026-11-01T00:00:00Z', 'ann@desk', NULL);
INSERT INTO public.discreet_spends VALUES (5, 1, true, 'settled', '{"epsilon": "1/6", "kind": "pure"}', 'test', '{"n": 5}', '{"loss": {"kind": "pure", "epsilon": "1/6"}, "unit": {"what": "user", "relation": "add-remove", "size": 1}, "standing": "PROVED", "basis": "a theorem", "subject": "noisy counts", "caps": [], "not_covered": [], "joint": false, "sentence": "PROVED: \u03b5 = 1/6 for the whole history of one user, present or absent; released: noisy counts"}', 'release-5', '2026-11-01T00:00:00Z', '2026-11-01T00:00:00Z', 'ann@desk', '2026-11-01T00:00:00Z');
INSERT INTO public.discreet_spends VALUES (6, 1, true, 'settled', '{"epsilon": "1/7", "kind": "pure"}', 'test', '{"n": 6}', '{"loss": {"kind": "pure", "epsilon": "1/7"}, "unit": {"what": "user", "relation": "add-remove", "size": 1}, "standing": "PROVED", "basis": "a theorem", "subject": "noisy counts", "caps": [], "not_covered": [], "joint": false, "sentence": "PROVED: \u03b5 = 1/7 for the whole history of one user, present or absent; released: noisy counts"}', 'release-6', '2026-11-01T00:00:00Z', '2026-11-01T00:00:00Z', 'ann@desk', NULL);
INSERT INTO public.discreet_spends VALUES (7, 1, true, 'settled', '{"epsilon": "1/8", "kind": "pure"}', 'test', '{"n": 7}', '{"loss": {"kind": "pure", "epsilon": "1/8"}, "unit": {"what": "user", "relation": "add-remove", "size": 1}, "standing": "PROVED", "basis": "a theorem", "subject": "noisy counts", "caps": [], "not_covered": [], "joint": false, "sentence": "PROVED: \u03b5 = 0.125 for the whole history of one user, present or absent; released: noisy counts"}', 'release-7', '2026-11-01T00:00:00Z', '2026-11-01T00:00:00Z', 'ann@desk', '2026-11-01T00:00:00Z');
INSERT INTO public.discreet_spends VALUES (8, 1, true, 'settled', '{"epsilon": "1/9", "kind": "pure"}', 'test', '{"n": 8}', '{"loss": {"kind": "pure", "epsilon": "1/9"}, "unit": {"what": "user", "relation": "add-remove", "size": 1}, "standing": "PROVED", "basis": "a theorem", "subject": "noisy counts", "caps": [], "not_covered": [], "joint": false, "sentence": "PROVED: \u03b5 = 1/9 for the whole history of one user, present or absent; released: noisy counts"}', 'release-8', '2026-11-01T00:00:00Z', '2026-11-01T00:00:00Z', 'ann@desk', NULL);
INSERT INTO public.discreet_spends VALUES (9, 1, true, 'reserved', '{"epsilon": "1/8", "kind": "pure"}', 'test', '{}', '{"loss": {"kind": "pure", "epsilon": "1/8"}, "unit": {"what": "user", "relation": "add-remove", "size": 1}, "standing": "PROVED", "basis": "a theorem", "subject": "noisy counts", "caps": [], "not_covered": [], "joint": false, "sentence": "PROVED: \u03b5 = 0.125 for the whole history of one user, present or absent; released: noisy counts"}', NULL, '2026-11-01T00:00:00Z', NULL, 'ann@desk', NULL);
SELECT pg_catalog.setval('public.discreet_accounts_id_seq', 2, true);
SELECT pg_catalog.setval('public.discreet_book_version_seq', 1, false);
SELECT pg_catalog.setval('public.discreet_spends_id_seq', 9, true);
ALTER TABLE ONLY public.discreet_accounts
    ADD CONSTRAINT discreet_accounts_name_key UNIQUE (name);
ALTER TABLE ONLY public.discreet_accounts
    ADD CONSTRAINT discreet_accounts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.discreet_book
    ADD CONSTRAINT discreet_book_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.discreet_chain
    ADD CONSTRAINT discreet_chain_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.discreet_fingerprints
    ADD CONSTRAINT discreet_fingerprints_pkey PRIMARY KEY (fingerprint);
ALTER TABLE ONLY public.discreet_head
    ADD CONSTRAINT discreet_head_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.discreet_spends
    ADD CONSTRAINT discreet_spends_pkey PRIMARY KEY (id);
CREATE INDEX discreet_spends_sums ON public.discreet_spends USING btree (account, counted, state, loss);
CREATE INDEX ix_discreet_fingerprints_account ON public.discreet_fingerprints USING btree (account);
ALTER TABLE ONLY public.discreet_fingerprints
    ADD CONSTRAINT discreet_fingerprints_account_fkey FOREIGN KEY (account) REFERENCES public.discreet_accounts(id);
ALTER TABLE ONLY public.discreet_spends
    ADD CONSTRAINT discreet_spends_account_fkey FOREIGN KEY (account) REFERENCES public.discreet_accounts(id);
