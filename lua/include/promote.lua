-- promote(conf, resource, left): grant what can be granted to those in line for a resource, first come first served, a
-- run of shared waiters together. Grants and ends are `left` at most; answers how many are left then. What stands in a
-- waiter's way is the same in all its lines, so it is looked for once (conf.tried) until somebody else is granted.
-- NEEDS deadlines members_below set_deadline record_of read_request end_wait find_obstacle hand_over
local function promote(conf, resource, left)
  local most, members = left, members_below('r ' .. resource .. ' q', left)
  for _, member in ipairs(members) do
    local order, code, rid = string.match(member, '^r %S+ q (%S+) (%S+) %S+ (%S+)$')
    local request = read_request(record_of(conf, rid))
    local tried = conf.tried[rid]
    if tonumber(redis.call('ZSCORE', deadlines, rid)) <= conf.now then
      end_wait(conf, rid, request)
      left = left - 1
    elseif not tried or tried.left ~= left then
      tried = { left = left }
      tried.obstacle, tried.held = find_obstacle(conf, request, order)
      conf.tried[rid] = tried
      conf.looks = conf.looks - #request.parts
      if not tried.obstacle then
        hand_over(conf, rid, request)
        left = left - 1
      end
    end
    local stops = tried and tried.obstacle and (code ~= 's' or (tried.held and tried.obstacle == resource))
    if stops or conf.looks <= 0 then return left end
  end
  -- those behind who have not been looked at may follow
  if #members == most and (left < most or most < 64) then set_deadline(conf, 'promote ' .. resource, conf.now) end
  return left
end
