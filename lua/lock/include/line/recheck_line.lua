-- recheck_line(ctx, resource, from): let detect look at those who wait for permits of a resource, behind that place in
-- its line: with fewer permits than before they may be part of a deadlock. 500 waiters at a time; the rest of a longer
-- line is noted for the next detect. Answers how much it has looked at.
local function recheck_line(ctx, resource, from)
  local line = 'r ' .. resource .. ' q '
  local members = redis.call('ZRANGE', graph, '(' .. line .. from .. '!', '(' .. line .. '~', 'BYLEX', 'LIMIT', 0, 500)
  local marks = {}
  local function mark(member)
    marks[#marks + 1] = ctx.now
    marks[#marks + 1] = member
  end
  for _, member in ipairs(members) do
    local order, code, rid = string.match(member, '^r %S+ q (%S+) (%S+) %S+ (%S+)$')
    from = order
    if permits_of(code) then mark(rid) end
  end
  if members[500] then mark('line ' .. resource .. ' ' .. from) end
  if marks[1] then redis.call('ZADD', unchecked, 'NX', unpack(marks)) end  -- at most 1,002: two for each waiter, and the rest
  return 1 + #members
end
