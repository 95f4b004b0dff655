-- edges_of(resource, answers): add the edges of those who wait for a resource. Who comes behind another that it has to
-- wait for waits for the nearest one; a run of shared waiters waits together.
-- NEEDS members_below
local function edges_of(resource, answers)
  local line = 'r ' .. resource
  local waiters = members_below(line .. ' q', 1000)
  if #waiters == 0 then return end
  local holders, run, last = {}, {}, nil
  for i, member in ipairs(members_below(line .. ' h', 1000)) do
    local code, owner, rid = string.match(member, '^r %S+ h (%S+) (%S+) (%S+)$')
    holders[i] = { code = code, owner = owner, rid = rid, held = 1 }
  end
  for _, member in ipairs(waiters) do
    local code, owner, rid = string.match(member, '^r %S+ q %S+ (%S+) (%S+) (%S+)$')
    local function wait_for(others)
      for _, other in ipairs(others) do
        if #answers < 10000 and other.owner ~= owner and (code ~= 's' or other.code ~= 's') then
          answers[#answers + 1] = { 'waits', owner, rid, resource, code, other.owner, other.rid, other.held }
        end
      end
    end
    if not last then wait_for(holders) end
    if last and (code == 's' or #run == 0) then wait_for({ last }) end
    local own = { code = code, owner = owner, rid = rid, held = 0 }
    if code == 's' then
      run[#run + 1] = own
    else
      wait_for(run)
      run, last = {}, own
    end
  end
end
