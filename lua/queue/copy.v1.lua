-- queue.copy.v1: write the copy of a queue of another server, a part in each call. `begin` closes the base: until `end`,
-- every other script refuses it (ADEQ_LAYOUT), so no client sees a copy that is half written. `begin` refuses a queue that
-- is no copy (`taken`), or a copy in use (`in_use`): not paused, or with a higher `place` or `fence` than those given, which
-- are those of the source. For 7 days a copy may be opened and written again, and one that is closed may always go on.
-- `write` writes keys, with their entries in the order of the keys. `name` is the part behind the base. `at` is how many
-- entries were written before; 0: the key is written anew. Type `none` deletes the key. If a key that should go on is
-- gone, it is left out. An entry is a field and its value; a member and its score; or a text, without a value. In a
-- stream it is an id and the number of its fields, which follow; 0: the id is the last that was given. `end` stores the
-- entries as `config` and opens the base. It is paused.
--
-- ARGV   step      enum begin|write|end
-- ARGV   place     int 0..       ?=0
-- ARGV   fence     int 0..       ?=0
-- ARGV   clock     enum keep|server|test ?=keep
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   key.name  bytes 1..500
-- ITEM   key.type  enum none|hash|zset|set|list|string|stream
-- ITEM   key.at    int 0..
-- ITEM   key.expires_ms int 0..
-- ITEM   key.entries int 0..1000
-- ITEM   entry.name bytes 0..8388608
-- ITEM   entry.value bytes 0..8388608 ?=
-- RETURN ok        now_ms:int
-- RETURN taken     now_ms:int
-- RETURN in_use    now_ms:int
-- RETURN closed    now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   operate
-- REPLAY idempotent
-- COST   3 + 3k + n commands; at most 2,300 commands, 40,000 steps

local row = redis.call('HMGET', config, 'layout_min', 'clock', 'mode', 'place', 'fence')
local copying = row[1] == '9007199254740991'
local now, refused = read_clock(not copying and row[1], row[2], step == 'begin' and clock)
if not now then return refused end

if step == 'begin' then
  if not copying and redis.call('EXISTS', config) == 1 then
    if redis.call('EXISTS', copied) == 0 then return { 'taken', now } end
    local used = tonumber(row[4] or 0) > place or tonumber(row[5] or 0) > fence
    if used or row[3] ~= 'paused' then return { 'in_use', now } end
  end
  redis.call('SET', copied, '1', 'PX', WAIT_copied_ms)
  redis.call('HSET', config, 'layout', CREATED, 'layout_min', '9007199254740991', 'clock', row[2] or (clock == 'test' and 'test' or 'server'))
elseif step == 'write' then
  refused = check_copied()
  if refused then return refused end
  if not copying then return { 'closed', now } end
  write_copied()
else
  local stored, mode = {}, nil
  for i = 1, entry_count do
    stored[2 * i - 1], stored[2 * i] = entry_name[i], entry_value[i]
    if entry_name[i] == 'mode' then mode = entry_value[i] end
  end
  if mode ~= 'paused' then return refuse('mode', mode, 'paused') end
  if not copying then
    local found = redis.call('HMGET', config, unpack(entry_name))  -- at most 1,000: the items of a call
    for i = 1, entry_count do
      if found[i] ~= entry_value[i] then return { 'closed', now } end
    end
    return { 'ok', now }
  end
  redis.call('UNLINK', config)
  redis.call('HSET', config, unpack(stored))  -- at most 2,000: two for each item of a call
end
return { 'ok', now }
