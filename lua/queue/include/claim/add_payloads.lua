-- add_payloads(leased): read the payloads of claimed tasks into entry 7. Returns the ids without a payload key: these
-- payloads were evicted, because empty payloads are stored, too.
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
