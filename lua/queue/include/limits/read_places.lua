-- read_places(lines, scores): read which scores the first tasks of these limit queues have in `blocked`. False if there
-- are tasks that do not wait there.
local function read_places(lines, scores)
  local ids, stand, right = {}, {}, true
  for _, line in pairs(lines) do
    for i = 1, #line.first, 2 do ids[#ids + 1], stand[#stand + 1] = line.first[i], line.first[i + 1] end
  end
  for first = 1, #ids, 7000 do
    local found = redis.call('ZMSCORE', blocked, unpack(ids, first, math.min(first + 6999, #ids)))
    for i, score in ipairs(found) do
      scores[ids[first + i - 1]] = score
      right = right and score == stand[first + i - 1]
    end
  end
  return right
end
