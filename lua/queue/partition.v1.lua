-- queue.partition.v1: set the partitions of a queue for a new epoch; or, without items, make this partition refuse new
-- tasks of earlier epochs. The partitions of an epoch are stored in the queue's own base, under its name without a
-- partition. Those of earlier epochs are in `homes`, earliest first: clients ask these first for a task that now
-- belongs to another partition. With `settle`, clients no longer ask the present homes (`settled` counts them).
-- `conflict` means that the queue does not have the preceding epoch. If the same call is sent again, it returns the
-- same answer.
--
-- ARGV   epoch     int 1..
-- ARGV   settle    bool          ?=0
-- ARGV   rid       id            ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   tag       id
-- GROUP  item      0..512
-- RETURN ok        now_ms:int epoch:int
-- RETURN conflict  now_ms:int epoch:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   operate
-- REPLAY rid
-- COST   10 commands; at most 9 commands, 3,000 steps

local ctx, refused = open()
if refused then return refused end
if item_count == 0 then
  if not ctx.exists then create_base() end
  if epoch > ctx.settings.epoch then redis.call('HSET', config, 'epoch', epoch) end
  return { 'ok', ctx.now, math.max(epoch, ctx.settings.epoch) }
end
if done_before(ctx, 'partition') then return { 'ok', ctx.now, ctx.settings.epoch } end
local row = redis.call('HMGET', config, 'partitions', 'homes', 'map_epoch')
local mapped = tonumber(row[3] or 0)
if mapped ~= epoch - 1 then return { 'conflict', ctx.now, mapped } end

if not ctx.exists then create_base() end
local homes = (row[2] and row[2] .. ';' or '') .. (row[1] or '-')
redis.call('HSET', config, 'map_epoch', epoch, 'epoch', math.max(epoch, ctx.settings.epoch),
  'partitions', table.concat(item_tag, ' '), 'homes', homes)
if settle then redis.call('HSET', config, 'settled', select(2, string.gsub(homes, '[^;]+', ''))) end
note_done(ctx, 'partition', 'done')
return { 'ok', ctx.now, epoch }
