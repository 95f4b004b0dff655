-- add_payloads(leased): fill in the payloads of claimed tasks, entry 7 of each; the ids of those that have none. An empty
-- payload is stored too, so one that is not there was evicted.
-- EARLY
local function add_payloads(leased)
  if #leased == 0 then return {} end
  local keys, missing = {}, {}
  for i, lease in ipairs(leased) do keys[i] = payload .. lease[2] end
  local payloads = redis.call('MGET', unpack(keys))  -- at most 1,000: leases of a claim
  for i, lease in ipairs(leased) do
    lease[7] = payloads[i] or ''
    if not payloads[i] then missing[#missing + 1] = lease[2] end
  end
  return missing
end
