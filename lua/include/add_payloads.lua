-- add_payloads(conf, leased): fill in the payloads of claimed tasks, entry 7 of each. An empty payload is stored too, so
-- one that is not there was evicted.
-- NEEDS payload emit
local function add_payloads(conf, leased)
  if #leased == 0 then return end
  local keys = {}
  for i, lease in ipairs(leased) do keys[i] = payload .. lease[2] end
  local payloads = redis.call('MGET', unpack(keys))
  for i, lease in ipairs(leased) do
    lease[7] = payloads[i] or ''
    if not payloads[i] then emit(conf, 'task.alert', lease[2], 'reason=payload_missing') end
  end
end
