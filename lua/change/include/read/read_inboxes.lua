-- read_inboxes(sets, cursor, count): the next entries of several inboxes together, { member, score, member, score, … }, the most urgent first
-- and each once; and whether there may be more. It ends early where one of the inboxes has more than a part that was read. nil: no cursor.
local function read_inboxes(sets, cursor, count)
  local part, pages, places, merged = math.max(20, math.floor(200 / #sets)), {}, {}, {}
  for i, set in ipairs(sets) do  -- at most 66: sets
    local start = start_of(set, cursor)
    if not start then return nil end
    pages[i], places[i] = redis.call('ZRANGE', set, start, start + part - 1, 'REV', 'WITHSCORES'), 1
  end
  for _ = 1, count do  -- at most 200: count
    local best
    for i, page in ipairs(pages) do  -- at most 66: sets
      local at = places[i]
      if at > 2 * part then return merged, true end
      local score = tonumber(page[at + 1])
      if score and (not best or score > best.score or score == best.score and bytes_before(best.member, page[at])) then
        best = { page = i, member = page[at], score = score }
      end
    end
    if not best then return merged, false end
    if merged[#merged - 1] ~= best.member then
      merged[#merged + 1], merged[#merged + 2] = best.member, pages[best.page][places[best.page] + 1]
    end
    places[best.page] = places[best.page] + 2
  end
  return merged, true
end
