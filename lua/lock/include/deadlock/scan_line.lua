-- scan_line(ctx, search, scan): find the waiters of a resource behind a place that wait for the holder or waiter at
-- that place, or for one who does: those that conflict with it, and all behind them. A holder's place is ''. Each is
-- noted once, with the owner that it waits for. counted: permits are involved. Reads 64 at a time; true when the line
-- has been read.
local function scan_line(ctx, search, scan)
  local resource, line = scan.resource, 'r ' .. scan.resource .. ' q '
  if not scan.begun then
    scan.begun, scan.stop = true, search.from[resource] or '~'
    if scan.stop <= scan.order then return true end
    if scan.code ~= 's' then
      scan.last, search.from[resource] = scan.by, scan.order
    end
    scan.counted = scan.counted or permits_of(scan.code) ~= nil
  end
  local members = redis.call('ZRANGE', graph, '(' .. line .. scan.order .. '!', '(' .. line .. scan.stop,
    'BYLEX', 'LIMIT', 0, 64)
  ctx.visits = ctx.visits - 1 - #members
  search.behind = search.behind or scan.own and members[1]
  for _, member in ipairs(members) do
    local at, wanted, owner, rid = string.match(member, '^r %S+ q (%S+) (%S+) (%S+) (%S+)$')
    scan.order, scan.counted = at, scan.counted or permits_of(wanted) ~= nil
    if scan.last or wanted ~= 's' then
      if not scan.last then search.from[resource] = at end
      if not search.found[owner] then
        local waits_for = wanted == 's' and scan.last or scan.by
        local next_one = search.found[waits_for]
        local node = { owner = owner, rid = rid, code = wanted, resource = resource, counted = scan.counted,
          waits_for = waits_for, depth = 1 + (next_one and next_one.depth or 0) }
        search.found[owner] = node
        search.count = search.count + 1
        search.todo[search.count] = node
      end
      if wanted ~= 's' then scan.last = owner end
    end
  end
  return #members < 64
end
