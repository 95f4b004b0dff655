-- look_stream(): the stream of the events: `added` (how many were ever added), `length`, `removed` (how many are gone again), and the ids of
-- its `first` and `last` event; 0-0 where there is none.
local function look_stream()
  if redis.call('EXISTS', events) == 0 then return { added = 0, length = 0, removed = 0, first = '0-0', last = '0-0' } end
  local found, info = {}, redis.call('XINFO', 'STREAM', events)
  for i = 1, #info, 2 do found[info[i]] = info[i + 1] end
  local added, length = found['entries-added'], found['length']
  return {
    added = added, length = length, removed = math.max(0, added - length), first = found['recorded-first-entry-id'],
    last = found['last-generated-id'],
  }
end
