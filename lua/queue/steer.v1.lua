-- queue.steer.v1: send a request to live workers: to claim tasks or to be quiet, to stop, to restart, or to run another
-- number of tasks at a time (0: unchanged). Each worker is notified at once, and gets it with its next heartbeat. The
-- request stays in force until it is changed, or until the worker has heard it and registers again. If the same call is
-- sent again, it changes nothing and returns the same answer.
--
-- ARGV   rid       id            ?=
-- ARGV   mode      enum keep|run|quiet|stop|restart ?=keep
-- ARGV   capacity  int 0..100000 ?=0
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   worker    id
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      asked
-- EACH   item      not_found
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  worker.steered
-- ROLE   operate
-- REPLAY rid
-- FLAGS  allow-oom
-- COST   10 + 5n commands, O(n log m); at most 5,600 commands, 29,000 steps

local ctx, refused = open()
if refused then return refused end

local answers = replayed_answers(ctx, 'steer', item_count)
if answers then return { 'ok', ctx.now, answers } end
answers = {}
local wanted = { 'heard', '0' }
if mode ~= 'keep' then wanted[3], wanted[4] = 'mode', mode end
if capacity > 0 then wanted[#wanted + 1] = 'wanted'; wanted[#wanted + 1] = capacity end
local seen = redis.call('ZMSCORE', workers, unpack(item_worker))  -- at most 1,000: items
local presence_ms = read_presence()
for i, name in ipairs(item_worker) do
  if tonumber(seen[i] or 0) <= ctx.now - presence_ms then
    answers[i] = { 'not_found' }
  else
    answers[i] = { 'asked' }
    redis.call('HSET', worker_hash .. name, unpack(wanted))  -- at most 6: what is wanted
    push_control(ctx, name)
    emit(ctx, 'worker.steered', name, 'mode=' .. mode .. ' capacity=' .. capacity)
  end
end
if ctx.exists then note_answers(ctx, 'steer', answers) end
return { 'ok', ctx.now, answers }
