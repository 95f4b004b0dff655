-- events.register.v1: register a group that reads the events of this base. It begins with the oldest event that there is;
-- with the next one (`now`); or with the very first one (`first`), so that what has been trimmed is a gap. From now on no
-- event is trimmed by age before the group has acknowledged it. A group that exists goes on where it is. create: register it
-- even if nothing is stored under the base yet. The group then gets every event from the very first one on.
--
-- ARGV   group    name
-- ARGV   start    enum oldest|now|first ?=oldest
-- ARGV   create   bool                ?=0
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN registered now_ms:int
-- RETURN exists   now_ms:int
-- RETURN full     now_ms:int
-- RETURN missing  now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  group.registered
-- ROLE   operate
-- REPLAY state
-- COST   10 commands; at most 13 commands, 96 steps

local ctx, refused = open()
if refused then return refused end
local known = redis.call('ZSCORE', groups, group)
if known then return { 'exists', ctx.now } end
if not create and redis.call('EXISTS', home) == 0 then return { 'missing', ctx.now } end
local number = redis.call('ZCARD', groups)
if number >= 100 then return { 'full', ctx.now } end

if not ctx.exists then create_base() end
note_keep(ctx)
local stream = look_stream()
local last, seen = '0-0', stream.removed
if start == 'now' then last, seen = stream.last, stream.added end
if start == 'first' then seen = 0 end
redis.call('ZADD', groups, ctx.now_text, group)
redis.call('HSET', group_at .. group, 'last', last, 'seen', seen, 'read_ms', ctx.now_text)
hold_events(ctx, ctx.settings.lapse_ms)
emit_group(ctx, 'group.registered', group, '')
return { 'registered', ctx.now }
