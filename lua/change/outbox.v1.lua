-- change.outbox.v1: the tasks that follow steps of changes and are not in the queue `queue` yet. The call first removes those that were
-- delivered, then answers what is due, and hides it for 30 s. Enqueue each under its `task_id`, with a new rid, and with the payload that
-- lua/README.md says. After `exists`, look at that task: if it has this kind and this payload, and is not older than `at_ms`, it is this
-- one. Then send outbox again with what was delivered, and as `taken` what has the id of another task: it gets another `task_id`, which
-- ends with `instead`, and is due at once. A task that comes twice does no harm while the queue remembers its id.
--
-- ARGV   limit    int 0..100    ?=100
-- ARGV   source   bytes 0..200  ?=
-- ARGV   trace    bytes 0..128  ?=
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- ITEM   id       name
-- ITEM   seq      int 1..9000000000000
-- ITEM   taken.id name
-- ITEM   taken.seq int 1..9000000000000
-- ITEM   taken.instead name
-- GROUP  item     0..100
-- GROUP  taken    0..100
-- RETURN ok       now_ms:int queue:text left:int items:list(item)
-- EACH   item     follow id:id seq:int task_id:id event:text rev:int digest:text kind:label lane:lane priority:int at_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  change.alert
-- ROLE   apply
-- REPLAY goes_on
-- FLAGS  allow-oom
-- COST   3 + 3n commands; at most 1,000 commands, 11,000 steps

local ctx, refused = open()
if refused then return refused end
for i, name in ipairs(taken_instead) do  -- at most 100: taken
  if #name > 40 then return refuse('taken[' .. i .. '].instead', name, 'at most 40 characters') end
end
for i, id in ipairs(item_id) do
  local name = id .. ' ' .. string.format('%.0f', item_seq[i])
  if redis.call('HDEL', follows, name) == 1 then
    redis.call('ZREM', outbox, name)
    redis.call('HINCRBY', change .. id, 'undelivered', -1)
  end
end
local domain, items = domain_name(), {}
for i, id in ipairs(taken_id) do
  local name = id .. ' ' .. string.format('%.0f', taken_seq[i])
  local text = redis.call('HGET', follows, name) or ''
  local at = string.match(text, '^%S+ %S+ %S+ %S+ %S+ %S+ ?(%d*)$')  -- without one of an earlier call
  if at then
    redis.call('HSET', follows, name, text .. (at == '' and ' 0 ' or ' ') .. taken_instead[i])
    redis.call('ZADD', outbox, ctx.now_text, name)
    local task_id = domain .. '/' .. string.gsub(name, ' ', '/')
    note_taken(ctx, id, task_id, task_id .. '/' .. taken_instead[i])
  end
end
for _, name in ipairs(redis.call('ZRANGE', outbox, '-inf', ctx.now_text, 'BYSCORE', 'LIMIT', 0, limit)) do
  local id, seq = string.match(name, '^(%S+) (%d+)$')
  local word, rev, digest, kind, lane, priority, at, instead =
    string.match(redis.call('HGET', follows, name) or '', '^(%S+) (%d+) (%S+) (%S+) (%S+) (%d) ?(%d*) ?(%S*)$')
  if word then
    local task_id = domain .. '/' .. id .. '/' .. seq .. (instead ~= '' and '/' .. instead or '')
    items[#items + 1] = { 'follow', id, tonumber(seq), task_id, word, tonumber(rev), digest, kind, lane, tonumber(priority),
      tonumber(at) or 0 }
    redis.call('ZADD', outbox, ctx.now + WAIT_outbox_ms, name)
  else
    redis.call('ZREM', outbox, name)
  end
end
local line = ctx.settings.follow_queue
return { 'ok', ctx.now, line and line ~= 'none' and line or '', redis.call('ZCARD', outbox), items }
