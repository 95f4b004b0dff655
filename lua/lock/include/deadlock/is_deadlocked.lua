-- is_deadlocked(ctx, search, request): whether a request at its place would wait for ever, with permits considered. It
-- plays through who can run and give back, until no owner is left that can. The rest is a deadlock. Owners that do not
-- wait for the request, directly or through others, can always run in the end. Returns true, the lines, and who could
-- run (for left_over); nil: too much to tell.
local function is_deadlocked(ctx, search, request)
  if not load_waits(ctx, search) or ctx.visits < #search.entries / 2 then return nil end -- lines_of needs this much of the budget
  local state = lines_of(ctx, search, request)
  local gone, ready = {}, {}
  local function set_free(wait)
    wait.free, state.need[wait.owner] = true, state.need[wait.owner] - 1
    if state.need[wait.owner] == 0 then ready[#ready + 1] = wait.owner end
  end
  local function look(line)
    for i = line.at, #line do -- shared waiters can run, up to the first waiter that is not shared
      local wait = line[i]
      if not gone[wait.owner] then
        if wait.code ~= 's' or line.alone > 0 then break end
        set_free(wait)
      end
      line.at = i + 1
    end
    local wait = line[line.first]
    for i = line.first, #line do -- who does not share has its turn when all ahead have gone
      wait, line.first = line[i], i
      if not gone[wait.owner] then break end
    end
    if not wait or wait.code == 's' or wait.free then return end -- an owner that already ran needs no further check
    local others = wait.permits and line.solid or line.all - (line.own[wait.owner] or 0)
    if others == 0 and (not wait.permits or line.taken + wait.permits <= line.max) then set_free(wait) end
  end
  for owner, need in pairs(state.need) do
    if need == 0 then ready[#ready + 1] = owner end
    for _, wait in ipairs(state.waits[owner] or {}) do
      -- the resource has fewer permits than it wants: its next poll will end it
      if wait.permits and wait.permits > wait.line.max then set_free(wait) end
    end
  end
  for _, line in pairs(state.lines) do look(line) end
  local at = 1
  while ready[at] do -- at most 20,000: each owner once
    local owner = ready[at]
    if owner == request.owner then return false end
    gone[owner], at = true, at + 1
    for _, hold in ipairs(state.holds[owner] or {}) do
      local line = hold.line
      line.all, line.alone = line.all - 1, line.alone - (hold.code == 's' and 0 or 1)
      line.solid, line.taken = line.solid - (hold.permits and 0 or 1), line.taken - (hold.permits or 0)
      look(line)
    end
    for _, wait in ipairs(state.waits[owner] or {}) do look(wait.line) end
  end
  return true, state, gone
end
