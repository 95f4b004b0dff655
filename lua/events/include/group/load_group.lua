-- load_group(name): a registered group, or nil.
local function load_group(name)
  local row = redis.call('HMGET', group_at .. name, 'last', 'seen', 'read_ms', 'lapsed', 'lost', 'gap', 'gap_from', 'gap_to', 'gap_lost')
  if not row[1] then return nil end
  return {
    last = row[1], seen = tonumber(row[2]), read_ms = row[3], lapsed = row[4], lost = tonumber(row[5] or 0), gap = tonumber(row[6] or 0),
    gap_from = row[7] or '', gap_to = row[8] or '', gap_lost = tonumber(row[9] or 0),
  }
end
