-- queue.enqueue.v1: put tasks into a queue, to run at once or later. The caller chooses the ids. The same id under the
-- same rid and index is a replay and returns `created` again. Any other use of a known id returns `exists` and changes
-- nothing. `deduplicated` names the existing task with the same idempotency key (for a day, unless configured), unique
-- key (until that task has ended) or scope (until its first lease; with coalesce=last, the new payload replaces its
-- payload). The tasks of a call keep their order. If no worker takes a task within fallback_after_ms, it waits in each
-- fallback lane in turn; then it keeps waiting, or fails. A task with `after` starts when those tasks have ended as
-- after_when says (completed by default), or one of them with after_any. `unknown` names the first task of `after`, or
-- with needs_parent the parent, that does not exist, or the parent that is in `after` and waits for this child. A task with `gather` starts when this number of later tasks that
-- name it as their parent have ended. If that is no longer possible, it is dead (`after_failed`), or cancelled if it
-- waits for a failure. Tasks of one ordering key start one after the other, each when the one before it has ended in
-- any way. `epoch` is that of the map of partitions that the client used. A task that `moved` to another partition is
-- created here if tasks of its key or family are still here.
--
-- ARGV   rid       id
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ARGV   epoch     int 0..       ?=0
-- ARGV   moved     bool          ?=0
-- ITEM   id        id
-- ITEM   payload   bytes 0..1048576
-- PAIRS  task
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      created
-- EACH   item      exists
-- EACH   item      deduplicated id:id
-- EACH   item      unknown id:id
-- EACH   item      moved
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK ADEQ_DRAINING ADEQ_EPOCH
-- EVENT  task.enqueued task.unblocked task.dead task.cancelled task.limited
-- ROLE   produce
-- REPLAY rid
-- COST   11 + n commands, 8 + 4n delayed ones, 5 more for each idempotency key, 3 for a scope or a gathered child, 1 for a user, tag, parent, unique key, 2 to wait, 1 for each that it waits for and 6 for it once in a call, 4 for a parent among these, 6 for an ordering key, 2 for one that has moved, 1 with fair shares and 3 for each user, 2 if there are limits and 4 for each task in a limit queue, O(n log m); at most 63,000 commands, 970,000 steps
-- LATE   answer_waiters cancel_task

-- The usual call: new tasks with no pairs but those of `fit`, in a queue that runs and uses no limits, fair shares
-- or other tier. It sends the commands that the code below would send, and makes few functions for them. It leaves all else
-- to that code, and so all refusals and replays, before any write.
local row, known, plain, keys, stamps, tens, seen, fit, keyed = nil, nil, not moved, {}, {}, rid .. '/', item_count > 1 and {}, nil, nil
for i = 1, item_count do
  local id, own, unit = item_id[i], item_pairs[i], i % 10
  if unit == 0 then tens = rid .. '/' .. string.format('%d', i / 10) end  -- a number as text takes five times as long as this
  keys[i], stamps[i] = task .. id, tens .. string.char(48 + unit)
  if seen then
    plain = plain and not seen[id]
    seen[id] = true
  end
  if plain and #own > 0 then
    fit = fit or { kind = 1, user = 1, priority = 1, timeout_ms = 1, max_attempts = 1, headers = 1, source = 1, result_ms = 1,
      backoff_base_ms = 1, backoff_multiplier_pct = 1, backoff_cap_ms = 1, jitter_pct = 1, idempotency_key = 1 }
    for at = 1, #own, 2 do plain = plain and fit[own[at]] end
    keyed = keyed or own.idempotency_key
  end
end
if plain then
  row = redis.call('HMGET', config, SETTING_NAMES)
  local usual = row[1] and epoch == tonumber(row.settings.epoch or 0) and row.settings.events_max ~= '0'
    and (row.settings.mode or 'running') == 'running' and (row.settings.tier or 'internal') == 'internal'
    and (row.settings.limits or '0') == '0' and (row.settings.fair or '0') == '0'
  if usual then known = redis.call('EXISTS', unpack(keys)) > 0 end  -- at most 1,000: items
  local now, now_text
  if usual and not known then now, now_text = read_clock(row[1], row[2]) end
  local held = now and keyed and new_keys(item_id, item_pairs, stamps)
  if now and (held or not keyed) then
    return { 'ok', now, add_plain_tasks(item_id, item_payload, item_pairs, stamps, keys, now, now_text, row, held) }
  end
end
-- LATE BODY

local ctx, refused = open(nil, row)
if refused then return refused end
if epoch < ctx.settings.epoch then return refuse_epoch(ctx) end
for i = 1, item_count do
  refused = check_parts(ctx, i, item_pairs[i])
  if refused then return refused end
end
if ctx.settings.mode == 'draining' then refused = refuse_new(ctx, item_id, item_pairs, stamps) end
if refused then return refused end

if known == nil then known = redis.call('EXISTS', unpack(keys)) > 0 end  -- at most 1,000: items
ctx.some_known, ctx.moved = known, moved
if not ctx.exists then create_base() end
if epoch > ctx.settings.epoch then redis.call('HSET', config, 'epoch', epoch) end
local answers = add_tasks(ctx, item_id, item_payload, item_pairs, stamps)
on_close(ctx)
write_counts(ctx)
return { 'ok', ctx.now, answers }
