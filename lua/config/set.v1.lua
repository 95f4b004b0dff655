-- config.set.v1: set values of names, or remove them, all or nothing. `expect` is the version that the caller has seen; 0: the name has no
-- value; -1: any. If one differs, the answer is `conflict`, with the present version of each name. The version of a name is the rev of the
-- call that wrote it. A rev is larger than all before it, and at least the time in µs. So it is not used again after a failover that has lost
-- writes. To remove a name that has no value is `missing`, and changes nothing. A namespace has at most
-- `names_max` names with values.
--
-- ARGV   rid      id
-- ARGV   actor    label            ?=
-- ARGV   reason   bytes 0..1024    ?=
-- ARGV   source   bytes 0..200     ?=
-- ARGV   trace    bytes 0..128     ?=
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- ITEM   name     id
-- ITEM   expect   int -1..9007199254740991 ?=-1
-- ITEM   remove   bool             ?=0
-- ITEM   value    bytes 0..65536   ?=
-- GROUP  item     1..100
-- RETURN ok       now_ms:int rev:int items:list(item)
-- RETURN conflict now_ms:int items:list(current)
-- RETURN full     now_ms:int names:int
-- EACH   item     set version:int
-- EACH   item     removed version:int
-- EACH   item     missing
-- EACH   current  matches version:int
-- EACH   current  differs version:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  config.set config.removed
-- ROLE   operate
-- REPLAY rid
-- COST   14 commands and 4 for each name; at most 9,900 commands, 35,000 steps

local ctx, refused = open()
if refused then return refused end
local named = {}
for i, name in ipairs(item_name) do
  if named[name] then return refuse('item[' .. i .. '].name', name, 'each name once in a call') end
  if item_remove[i] and item_value[i] ~= '' then
    return refuse('item[' .. i .. '].remove', '1', '0 for a name with a value')
  end
  named[name] = true
end
local before = done_before(ctx, 'set')
if before then return answer_of(ctx, before) end

local records, versions, differs, added = {}, {}, false, 0
for i, name in ipairs(item_name) do
  local record = read_record(name)
  local version = record.value and record.version or '0'
  local matches = item_expect[i] < 0 or item_expect[i] == tonumber(version)
  differs = differs or not matches
  if (version == '0') ~= item_remove[i] then added = added + (item_remove[i] and -1 or 1) end
  records[i], versions[i] = record, (matches and 'm' or 'd') .. version
end
if differs then return conclude(ctx, 'conflict:' .. table.concat(versions, ',')) end
local names = redis.call('ZCARD', changed) - redis.call('ZCARD', removed)
if added > 0 and names + added > ctx.settings.names_max then return conclude(ctx, 'full:' .. names) end

local rev = math.max(ctx.settings.rev + 1, ctx.now * 1000)
local rev_text, done, writes = string.format('%.0f', rev), {}, false
for i, name in ipairs(item_name) do
  if item_remove[i] and not records[i].value then
    done[i] = 'm'
  else
    done[i], writes = item_remove[i] and 'r' or 's', true
    write_version(ctx, name, records[i], rev_text, not item_remove[i] and item_value[i])
  end
end
if writes then
  redis.call('HSET', config, 'rev', rev_text)
  redis.call('ZADD', revs, rev_text, rev_text)
  redis.call('ZREMRANGEBYRANK', revs, 0, -1001)
  forget_removed(ctx, item_count + 10)
  redis.pcall('SPUBLISH', channel, 'changed:' .. rev_text)
else
  rev_text = string.format('%.0f', ctx.settings.rev)
end
return conclude(ctx, 'ok:' .. rev_text .. ':' .. table.concat(done))
