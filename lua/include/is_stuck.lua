-- is_stuck(conf, request): whether a request at its place would wait for ever, permits considered: whoever can run is
-- let run and give back what it has, as long as there is somebody; what is left over is a deadlock. nil: too much to
-- tell.
-- NEEDS permits_of load_waits
local function is_stuck(conf, request)
  local lines, waits = load_waits(conf, request)
  if not lines then return nil end
  local steps = 40 * conf.visits
  local function stops(entry, wait)
    if entry.owner == wait.owner then return not permits_of(entry.code) ~= not permits_of(wait.code) end
    return (entry.order == '' or entry.order < wait.order) and (entry.code ~= 's' or wait.code ~= 's')
  end
  local function is_free(wait)
    local line, wanted = lines[wait.resource], permits_of(wait.code)
    if wanted and wanted > line.max then return true end -- not to be had: its next poll ends it
    local free = line.max
    for _, entry in ipairs(line) do
      steps = steps - 1
      if waits[entry.owner] then
        if wanted and entry.order == '' and permits_of(entry.code) then
          free = free - permits_of(entry.code)
        elseif stops(entry, wait) then
          return false
        end
      end
    end
    return not wanted or wanted <= free
  end
  local changed = true
  while changed and waits[request.owner] and steps > 0 do  -- at most 4,000,000: steps
    changed = false
    for owner, wanted in pairs(waits) do
      local runs = true
      for _, wait in ipairs(wanted) do runs = runs and is_free(wait) end
      if runs then waits[owner], changed = nil, true end
    end
  end
  if steps <= 0 then return nil end
  return waits[request.owner] ~= nil
end
