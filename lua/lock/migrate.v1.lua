-- lock.migrate.v1: from now on write the stored data of a domain in the layout of these scripts, and refuse older ones. What is
-- stored already they read in either form. Where nothing is stored, or the layout is not older, nothing changes.
--
-- KEYS   config    hash           {base}:config
-- KEYS   requests  hash           {base}:requests
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- RETURN ok        now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   operate
-- FLAGS  allow-oom
-- COST   5 commands
-- INCLUDE base_time open_domain raise_layout

local conf, refused = open_domain({})
if refused then return refused end
raise_layout()
return { 'ok', conf.now }
