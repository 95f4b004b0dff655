-- open_lines(conf, keys, again): see to the lines of these limits, as open_line does.
-- NEEDS emit make_ready open_line
local function open_lines(conf, keys, again)
  local batch = { by_lane = {}, freed = {} }
  for _, key in ipairs(keys) do open_line(conf, key, batch, again) end
  make_ready(conf, batch.by_lane)
  for first = 1, #batch.freed, 1000 do
    emit(conf, 'task.unblocked', table.concat(batch.freed, ' ', first, math.min(first + 999, #batch.freed)), '')
  end
end
