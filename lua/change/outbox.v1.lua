-- change.outbox.v1: the tasks that follow steps of changes and are not in the queue `queue` yet. The call first removes those that were
-- delivered, then answers what is due, and hides it for 30 s. Enqueue each under its `task_id`, and with the payload that lua/README.md says;
-- `exists` is as good as `created`. Then send outbox again with what was delivered. A task that comes twice does no harm while the queue
-- remembers its id. `random`: a random text. The id of a task that is handed out for the first time is made of it, so that nobody else can
-- take the id before. Without it, the id is `<domain>/<id>/<seq>`, which anybody can guess.
--
-- ARGV   random   id            ?=
-- ARGV   limit    int 0..100    ?=100
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- ITEM   id       name
-- ITEM   seq      int 1..9000000000000
-- GROUP  item     0..100
-- RETURN ok       now_ms:int queue:text left:int items:list(item)
-- EACH   item     follow id:id seq:int task_id:id event:text rev:int digest:text kind:label lane:lane priority:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   apply
-- REPLAY goes_on
-- FLAGS  allow-oom
-- COST   3 + 6n commands; at most 1,000 commands, 3,000 steps

local ctx, refused = open()
if refused then return refused end
for i, id in ipairs(item_id) do
  local name = id .. ' ' .. string.format('%.0f', item_seq[i])
  if redis.call('HDEL', follows, name) == 1 then
    redis.call('ZREM', outbox, name)
    redis.call('HINCRBY', change .. id, 'undelivered', -1)
    local own = redis.call('HGET', follows, name .. ' id')
    if own then
      redis.call('HDEL', follows, name .. ' id')
      note_task(id, string.format('%.0f', item_seq[i]) .. '/' .. own)
    end
  end
end
local domain, items = domain_name(), {}
for _, name in ipairs(redis.call('ZRANGE', outbox, '-inf', ctx.now_text, 'BYSCORE', 'LIMIT', 0, limit)) do
  local id, seq = string.match(name, '^(%S+) (%d+)$')
  local row = redis.call('HMGET', follows, name, name .. ' id')
  local word, rev, digest, kind, lane, priority = string.match(row[1] or '', '^(%S+) (%d+) (%S+) (%S+) (%S+) (%d)$')
  if word then
    local own = row[2]
    if not own and random ~= '' then
      own = string.sub(redis.sha1hex(random .. ' ' .. name), 1, 20)
      redis.call('HSET', follows, name .. ' id', own)
    end
    local task_id = domain .. '/' .. id .. '/' .. seq .. (own and '/' .. own or '')
    items[#items + 1] = { 'follow', id, tonumber(seq), task_id, word, tonumber(rev), digest, kind, lane, tonumber(priority) }
    redis.call('ZADD', outbox, ctx.now + WAIT_outbox_ms, name)
  else
    redis.call('ZREM', outbox, name)
  end
end
local line = ctx.settings.follow_queue
return { 'ok', ctx.now, line and line ~= 'none' and line or '', redis.call('ZCARD', outbox), items }
