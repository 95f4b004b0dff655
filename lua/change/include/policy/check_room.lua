-- check_room(): return an error if this call would store more policies than a domain may have; get_policies reads all of them.
local function check_room()
  local count = redis.call('HLEN', policies)
  if count + item_count <= 1000 then return nil end
  for i, name in ipairs(item_name) do  -- at most 100: items
    if not item_pairs[i].remove and redis.call('HEXISTS', policies, name) == 0 then count = count + 1 end
  end
  if count > 1000 then return refuse('item', count .. ' policies', 'so few that the domain has at most 1000 policies') end
end
