-- queue.progress.v1: store how far running tasks have come: a share in millionths, a line of text, where their output
-- is, and a line for their log, which keeps the last 100 lines. Values that are not given stay unchanged. Past its
-- deadline, a lease is lost here. If the same call is sent again, it changes nothing and returns the same answer.
--
-- ARGV   rid       id
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   id        id
-- ITEM   token     id
-- PAIR   ppm       int 0..1000000
-- PAIR   text      bytes 0..1000
-- PAIR   line      bytes 0..1000
-- PAIR   output    bytes 0..1000
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      noted
-- EACH   item      cancelling
-- EACH   item      lease_lost
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.progress
-- ROLE   work
-- REPLAY rid
-- FLAGS  allow-oom
-- COST   9 + 5n commands, O(n log m); at most 5,600 commands, 140,000 steps

local ctx, refused = open()
if refused then return refused end

local answers = replayed_answers(ctx, 'progress', item_count)
if answers then return { 'ok', ctx.now, answers } end
answers = {}
local any = false
-- at most 1,000: items
local held = redis.call('HMGET', running, unpack(item_id))
local deadlines = redis.call('ZMSCORE', leases, unpack(item_id))
for i, id in ipairs(item_id) do
  local lease = read_lease(held[i])
  local ours = lease and lease.token == item_token[i] and tonumber(deadlines[i] or 0) > ctx.now
  if not ours or not note_progress(ctx, id, item_pairs[i]) then
    answers[i] = { 'lease_lost' }
  else
    answers[i], any = { lease.cancelling and 'cancelling' or 'noted' }, true
  end
end
if any then note_answers(ctx, 'progress', answers) end
return { 'ok', ctx.now, answers }
