-- kind.publish.v1: tell which kinds of tasks a worker knows, with their schemas. Each is kept for the setting `keep_ms`,
-- so workers publish again from time to time. A catalog has at most 500 kinds. A newer version stays until it expires.
--
-- ARGV   source   bytes 0..200  ?=
-- ARGV   trace    bytes 0..128  ?=
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- ITEM   id       id
-- ITEM   version  int 1..1000000000
-- ITEM   schema   bytes 0..16384
-- GROUP  item     1..50
-- RETURN ok       now_ms:int items:list(item)
-- EACH   item     published expires_ms:int
-- EACH   item     older
-- EACH   item     full
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  kind.published kind.expired
-- ROLE   work
-- REPLAY idempotent
-- COST   5 + 5n commands; at most 450 commands, 3,500 steps

local ctx, refused = open()
if refused then return refused end
if not ctx.exists then create_base() end
remove_expired(ctx, 100)
local expires_ms = ctx.now + ctx.settings.keep_ms
local expires_text = string.format('%.0f', expires_ms)
local count = redis.call('ZCARD', expiring)
local answers = {}
for i = 1, item_count do
  local id, version = item_id[i], item_version[i]
  local before = redis.call('HMGET', kind .. id, 'version', 'schema')
  if not before[1] and count >= 500 then
    answers[i] = { 'full' }
  elseif before[1] and tonumber(before[1]) > version then
    answers[i] = { 'older' }
  else
    if not before[1] then count = count + 1 end
    redis.call('HSET', kind .. id, 'version', string.format('%.0f', version), 'schema', item_schema[i],
      'expires_ms', expires_text)
    redis.call('ZADD', expiring, expires_text, id)
    if tonumber(before[1]) ~= version or before[2] ~= item_schema[i] then
      emit(ctx, 'kind.published', id, 'version=' .. string.format('%.0f', version))
    end
    answers[i] = { 'published', expires_ms }
  end
end
return { 'ok', ctx.now, answers }
