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
CREATE TABLE public.discreet_fingerprints (
    fingerprint text NOT NULL,
    account integer NOT NULL,
    linked text NOT NULL
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
INSERT INTO public.discreet_accounts VALUES (1, 'films', '10', '1/1000000', 'user/add-remove', 'basic', '2026-01-01T00:00:00Z', 'ann@desk');
INSERT INTO public.discreet_accounts VALUES (2, 'games', '5/2', '0', 'user/replace', 'basic', '2026-01-01T00:01:00Z', 'ann@desk');
INSERT INTO public.discreet_book VALUES (1);
INSERT INTO public.discreet_fingerprints VALUES ('films', 1, '2026-01-01T00:00:00Z');
INSERT INTO public.discreet_fingerprints VALUES ('games', 2, '2026-01-01T00:01:00Z');
INSERT INTO public.discreet_fingerprints VALUES ('films of tomorrow', 1, '2026-01-01T00:02:00Z');
INSERT INTO public.discreet_spends VALUES (1, 1, true, 'settled', '{"epsilon": "1/2", "kind": "pure"}', 'item_counts', '{"cap": 1}', '{"loss": {"kind": "pure", "epsilon": "1/2"}, "unit": {"what": "user", "relation": "add-remove", "size": 1}, "standing": "PROVED", "basis": "a theorem", "subject": "noisy counts", "caps": [], "not_covered": [], "joint": false, "sentence": "PROVED (a theorem): releasing noisy counts keeps \u03b5 = 0.5 for the whole history of one user, present or absent."}', 'release-1', '2026-01-01T00:03:00Z', '2026-01-01T00:04:00Z', 'ann@desk');
INSERT INTO public.discreet_spends VALUES (2, 1, true, 'settled', '{"epsilon": "1/3", "kind": "pure"}', 'item_counts', '{"cap": 2}', '{"loss": {"kind": "pure", "epsilon": "1/3"}, "unit": {"what": "user", "relation": "add-remove", "size": 1}, "standing": "PROVED", "basis": "a theorem", "subject": "noisy counts", "caps": [], "not_covered": [], "joint": false, "sentence": "PROVED (a theorem): releasing noisy counts keeps \u03b5 = 1/3 for the whole history of one user, present or absent."}', 'release-2', '2026-01-01T00:05:00Z', '2026-01-01T00:06:00Z', 'ann@desk');
INSERT INTO public.discreet_spends VALUES (3, 1, true, 'settled', '{"epsilon": "1/4", "kind": "pure"}', 'item_counts', '{"cap": 3}', '{"loss": {"kind": "pure", "epsilon": "1/4"}, "unit": {"what": "user", "relation": "add-remove", "size": 1}, "standing": "PROVED", "basis": "a theorem", "subject": "noisy counts", "caps": [], "not_covered": [], "joint": false, "sentence": "PROVED (a theorem): releasing noisy counts keeps \u03b5 = 0.25 for the whole history of one user, present or absent."}', 'release-3', '2026-01-01T00:07:00Z', '2026-01-01T00:08:00Z', 'ann@desk');
INSERT INTO public.discreet_spends VALUES (4, 1, true, 'settled', '{"epsilon": "1/5", "kind": "pure"}', 'item_counts', '{"cap": 4}', '{"loss": {"kind": "pure", "epsilon": "1/5"}, "unit": {"what": "user", "relation": "add-remove", "size": 1}, "standing": "PROVED", "basis": "a theorem", "subject": "noisy counts", "caps": [], "not_covered": [], "joint": false, "sentence": "PROVED (a theorem): releasing noisy counts keeps \u03b5 = 0.2 for the whole history of one user, present or absent."}', 'release-4', '2026-01-01T00:09:00Z', '2026-01-01T00:10:00Z', 'ann@desk');
INSERT INTO public.discreet_spends VALUES (5, 1, true, 'settled', '{"epsilon": "1/6", "kind": "pure"}', 'item_counts', '{"cap": 5}', '{"loss": {"kind": "pure", "epsilon": "1/6"}, "unit": {"what": "user", "relation": "add-remove", "size": 1}, "standing": "PROVED", "basis": "a theorem", "subject": "noisy counts", "caps": [], "not_covered": [], "joint": false, "sentence": "PROVED (a theorem): releasing noisy counts keeps \u03b5 = 1/6 for the whole history of one user, present or absent."}', 'release-5', '2026-01-01T00:11:00Z', '2026-01-01T00:12:00Z', 'ann@desk');
INSERT INTO public.discreet_spends VALUES (6, 1, true, 'settled', '{"epsilon": "1/7", "kind": "pure"}', 'item_counts', '{"cap": 6}', '{"loss": {"kind": "pure", "epsilon": "1/7"}, "unit": {"what": "user", "relation": "add-remove", "size": 1}, "standing": "PROVED", "basis": "a theorem", "subject": "noisy counts", "caps": [], "not_covered": [], "joint": false, "sentence": "PROVED (a theorem): releasing noisy counts keeps \u03b5 = 1/7 for the whole history of one user, present or absent."}', 'release-6', '2026-01-01T00:13:00Z', '2026-01-01T00:14:00Z', 'ann@desk');
INSERT INTO public.discreet_spends VALUES (7, 1, true, 'settled', '{"epsilon": "1/8", "kind": "pure"}', 'item_counts', '{"cap": 7}', '{"loss": {"kind": "pure", "epsilon": "1/8"}, "unit": {"what": "user", "relation": "add-remove", "size": 1}, "standing": "PROVED", "basis": "a theorem", "subject": "noisy counts", "caps": [], "not_covered": [], "joint": false, "sentence": "PROVED (a theorem): releasing noisy counts keeps \u03b5 = 0.125 for the whole history of one user, present or absent."}', 'release-7', '2026-01-01T00:15:00Z', '2026-01-01T00:16:00Z', 'ann@desk');
INSERT INTO public.discreet_spends VALUES (8, 1, true, 'settled', '{"epsilon": "1/9", "kind": "pure"}', 'item_counts', '{"cap": 8}', '{"loss": {"kind": "pure", "epsilon": "1/9"}, "unit": {"what": "user", "relation": "add-remove", "size": 1}, "standing": "PROVED", "basis": "a theorem", "subject": "noisy counts", "caps": [], "not_covered": [], "joint": false, "sentence": "PROVED (a theorem): releasing noisy counts keeps \u03b5 = 1/9 for the whole history of one user, present or absent."}', 'release-8', '2026-01-01T00:17:00Z', '2026-01-01T00:18:00Z', 'ann@desk');
INSERT INTO public.discreet_spends VALUES (9, 1, true, 'reserved', '{"delta": "1/10000000", "epsilon": "1/8", "kind": "approximate"}', 'top_items', '{}', '{"loss": {"kind": "approximate", "epsilon": "1/8", "delta": "1/10000000"}, "unit": {"what": "user", "relation": "add-remove", "size": 1}, "standing": "PROVED", "basis": "a theorem", "subject": "noisy counts", "caps": [], "not_covered": [], "joint": false, "sentence": "PROVED (a theorem): releasing noisy counts keeps \u03b5 = 0.125, \u03b4 = 1e-7 for the whole history of one user, present or absent."}', NULL, '2026-01-01T00:19:00Z', NULL, 'ann@desk');
INSERT INTO public.discreet_spends VALUES (10, 2, true, 'settled', '{"epsilon": "1/2", "kind": "pure"}', 'item_counts', '{}', '{"loss": {"kind": "pure", "epsilon": "1/4"}, "unit": {"what": "user", "relation": "add-remove", "size": 1}, "standing": "PROVED", "basis": "a theorem", "subject": "noisy counts", "caps": [], "not_covered": [], "joint": false, "sentence": "PROVED (a theorem): releasing noisy counts keeps \u03b5 = 0.25 for the whole history of one user, present or absent."}', NULL, '2026-01-01T00:20:00Z', '2026-01-01T00:21:00Z', 'ann@desk');
INSERT INTO public.discreet_spends VALUES (11, 2, false, 'settled', '{"epsilon": "1/4", "kind": "pure"}', 'pncf', '{}', '{"loss": {"kind": "pure", "epsilon": "1/4"}, "unit": {"what": "user", "relation": "add-remove", "size": 1}, "standing": "REFUTED", "basis": "a theorem", "subject": "noisy counts", "caps": [], "not_covered": [], "joint": false, "sentence": "REFUTED (a theorem): for noisy counts \u03b5 = 0.25 was claimed, which does not hold, for the whole history of one user, present or absent."}', NULL, '2026-01-01T00:22:00Z', '2026-01-01T00:23:00Z', 'ann@desk');
SELECT pg_catalog.setval('public.discreet_accounts_id_seq', 2, true);
SELECT pg_catalog.setval('public.discreet_book_version_seq', 1, false);
SELECT pg_catalog.setval('public.discreet_spends_id_seq', 11, true);
ALTER TABLE ONLY public.discreet_accounts
    ADD CONSTRAINT discreet_accounts_name_key UNIQUE (name);
ALTER TABLE ONLY public.discreet_accounts
    ADD CONSTRAINT discreet_accounts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.discreet_book
    ADD CONSTRAINT discreet_book_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.discreet_fingerprints
    ADD CONSTRAINT discreet_fingerprints_pkey PRIMARY KEY (fingerprint);
ALTER TABLE ONLY public.discreet_spends
    ADD CONSTRAINT discreet_spends_pkey PRIMARY KEY (id);
CREATE INDEX discreet_spends_sums ON public.discreet_spends USING btree (account, counted, state, loss);
CREATE INDEX ix_discreet_fingerprints_account ON public.discreet_fingerprints USING btree (account);
ALTER TABLE ONLY public.discreet_fingerprints
    ADD CONSTRAINT discreet_fingerprints_account_fkey FOREIGN KEY (account) REFERENCES public.discreet_accounts(id);
ALTER TABLE ONLY public.discreet_spends
    ADD CONSTRAINT discreet_spends_account_fkey FOREIGN KEY (account) REFERENCES public.discreet_accounts(id);
