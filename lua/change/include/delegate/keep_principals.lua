-- keep_principals(own, one, before, chain, via): a request gets this chain, by these delegations: its record keeps for whom agents have delegated
-- it only of the steps that it had before.
local function keep_principals(own, one, before, chain, via)
  if not string.find(before.via .. '>', '>>', 1, true) then return end
  local key = requests .. own.id .. '/' .. one.slot
  local known = redis.call('HGET', key, 'delegated_for') or ''
  one.principals = kept_principals(known, before, chain, via)
  if one.principals ~= known then redis.call('HSET', key, 'delegated_for', one.principals) end
end
