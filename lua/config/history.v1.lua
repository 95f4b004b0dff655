-- config.history.v1: the versions of a name, newest first, the present one included: the last 100, and of earlier ones at most 1 MiB. With
-- `version`, only this one. The answer has the present version, 0 if the name has no value. The history of a removed name is kept as long as
-- the removal is known.
--
-- ARGV   name     id
-- ARGV   version  int 0..9007199254740991 ?=0
-- ARGV   cursor   bytes 0..300     ?=
-- ARGV   limit    int 1..100       ?=20
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN ok       now_ms:int version:int cursor:text items:list(past)
-- EACH   past     value version:int at_ms:int actor:bytes reason:bytes value:bytes
-- EACH   past     removed version:int at_ms:int actor:bytes reason:bytes
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   4 commands; at most 4 commands, 1,100 steps

local ctx, refused = open()
if refused then return refused end
local below = MAX_SAFE
if cursor ~= '' then
  below = tonumber(string.match(cursor, '^%d+$'))
  if not below then return refuse('cursor', cursor, 'empty, or what the page before answered') end
end
local record = read_record(name)
local entries = redis.call('LRANGE', history .. name, 0, 98)  -- at most 99, and 1 MiB
if record.version then table.insert(entries, 1, entry_text(record)) end
local items, last = {}, ''
for _, text in ipairs(entries) do
  local own, at_ms, status, actor_size, reason_size, start = string.match(text, '^(%d+) (%d+) (%a+) (%d+) (%d+) ()')
  own = tonumber(own)
  if own < below and (version == 0 or own == version) then
    if #items == limit then
      last = string.format('%.0f', items[limit][2])
      break
    end
    local reason_at = start + actor_size
    local value_at = reason_at + reason_size
    items[#items + 1] = { status, own, tonumber(at_ms), string.sub(text, start, reason_at - 1), string.sub(text, reason_at, value_at - 1),
      status == 'value' and string.sub(text, value_at) or nil }
  end
end
return { 'ok', ctx.now, record.value and tonumber(record.version) or 0, last, items }
