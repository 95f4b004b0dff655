-- has_written(id, people): the first of these persons who is a contributor of a change, or nil.
local function has_written(id, people)
  local found = redis.call('SMISMEMBER', contributors .. id, unpack(people))  -- at most 8: an actor, a principal, a chain
  for i, one in ipairs(people) do
    if found[i] == 1 then return one end
  end
end
