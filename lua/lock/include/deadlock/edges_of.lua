-- edges_of(resource, answers, page, order, at): add the edges of the waiters of a resource, from the waiter at that
-- place and its edge number `at` on. A waiter that has to wait for another waiter gets edges to the nearest one only. A
-- run of shared waiters waits together. Returns the waiter and the edge to continue with, if the page is full. page:
-- `left`, how many more edges it may have, and `work`, how much more may be read.
local function edges_of(resource, answers, page, order, at)
  local line = 'r ' .. resource
  local waiters = members_below(line .. ' q', 1000)
  if #waiters == 0 then return end
  local holders, alone, run, last = members_below(line .. ' h', 1000), {}, {}, nil
  page.work = page.work - math.ceil((#waiters + #holders) / 2)
  -- holds are sorted: permits, shared, exclusive
  local mixed = not string.find((holders[1] or '') .. (holders[#holders] or ''), '^r %S+ h s .* h s %S+ %S+$')
  for _, member in ipairs(mixed and holders or {}) do
    if not string.find(member, '^r %S+ h s ') then alone[#alone + 1] = member end
  end
  for _, member in ipairs(waiters) do
    local place, code, owner, rid = string.match(member, '^r %S+ q (%S+) (%S+) (%S+) (%S+)$')
    local others, behind = {}, code == 's' and {} or run
    if not last then
      others = code == 's' and alone or holders
    elseif code == 's' or #run == 0 then
      others = { last }
    end
    for i = place == order and at or 1, place < order and 0 or #others + #behind do
      if page.left <= 0 or page.work <= 0 then return place, i end
      page.work = page.work - 1
      local held = not last and i <= #others
      local its_owner, its_rid = string.match(others[i] or behind[i - #others],
        held and '^r %S+ h %S+ (%S+) (%S+)$' or '^r %S+ q %S+ %S+ (%S+) (%S+)$')
      if its_owner ~= owner then
        page.left = page.left - 1
        answers[#answers + 1] = { 'waits', owner, rid, resource, code, its_owner, its_rid, held and 1 or 0 }
      end
    end
    if code == 's' then
      run[#run + 1] = member
    else
      run, last = {}, member
    end
  end
end
