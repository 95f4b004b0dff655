-- queue.steer_schedule.v1: pause, resume or remove a schedule; its tasks stay. A paused schedule misses its times
-- without a count. A pause is a new revision. To resume, the caller sends the revision from which it computed, and the
-- first time from now on; another revision returns `stale`. To pause or remove, `rev` 0 is any. If the same call is sent again, it changes nothing and
-- returns the same answer.
--
-- ARGV   name      name
-- ARGV   rid       id
-- ARGV   verb      enum pause|resume|remove
-- ARGV   rev       int 0..       ?=0
-- ARGV   next_ms   int 0..       ?=0
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- RETURN done      now_ms:int
-- RETURN unchanged now_ms:int
-- RETURN stale     now_ms:int
-- RETURN not_found now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  schedule.paused schedule.resumed schedule.removed
-- ROLE   operate
-- REPLAY rid
-- FLAGS  allow-oom
-- COST   12 commands, up to 3 more if it is due within 10 s, O(log m); at most 4 commands, 82 steps
-- LATE   read_open

local ctx, refused = open()
if refused then return refused end
local key = schedule .. name
local before = done_before(ctx, 'steer_schedule')
if before then return { before, ctx.now } end
local row = redis.call('HMGET', key, 'rev', 'paused', 'open')
if not row[1] then
  redis.call('ZREM', schedules, name)  -- an evicting server may have taken the rest
  if ctx.exists then note_done(ctx, 'steer_schedule', 'not_found') end
  return { 'not_found', ctx.now }
end
if (verb == 'resume' or rev > 0) and tonumber(row[1]) ~= rev then return { 'stale', ctx.now } end

local status = 'done'
if verb == 'remove' then
  local open = read_open(row[3] or '')
  if open[1] then  -- another schedule of that name is to know of these runs
    redis.call('SET', runs .. name, table.concat(open, ' '), 'PX', 604800000)
  end
  redis.call('DEL', key)
  redis.call('ZREM', schedules, name)
  emit(ctx, 'schedule.removed', name, '')
elseif (verb == 'pause') == (row[2] == '1') then
  status = 'unchanged'
elseif verb == 'pause' then
  plan_firing(ctx, 0)
  redis.call('HSET', key, 'paused', '1', 'rev', redis.call('HINCRBY', config, 'revisions', 1))
  emit(ctx, 'schedule.paused', name, '')
else
  plan_firing(ctx, next_ms)
  redis.call('HDEL', key, 'paused')
  emit(ctx, 'schedule.resumed', name, 'next_ms=' .. string.format('%.0f', next_ms))
end
note_done(ctx, 'steer_schedule', status)
return { status, ctx.now }
