-- plain_runs(row, held, ids, tokens, results): what the records keep of the runs of these tasks, by index and id, if all
-- are plain: they have the leases with these tokens (held), ran only once, and have no ties, limits, trace or cancel
-- request; and small results are kept with them. Otherwise nil. complete_plain ends plain tasks.
local function plain_runs(row, held, ids, tokens, results)
  if row.settings.result_ms or row.settings.payload_ms then return nil end
  local match, runs = string.match, {}
  for i, id in ipairs(ids) do
    local token, ran = match(held[i] or '', '^(%S+) %S+ [^ |]+|(%d+ 1 .*)$')
    if token ~= tokens[i] or runs[id] or #results[i] > 4096 then return nil end
    runs[i], runs[id] = ran, i
  end
  local max = tonumber(row.settings.finished_max or DEFAULT_finished_max)
  if redis.call('ZCARD', finished) + #ids > max + math.min(100, math.floor(max / 20)) then return nil end  -- see retain
  return runs
end
