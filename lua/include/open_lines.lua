-- open_lines(conf, keys, again): see to the lines of these limits, as open_line does.
-- NEEDS emit make_ready open_line
local function open_lines(conf, keys, again)
  local batch = { by_lane = {}, freed = {} }
  for _, key in ipairs(keys) do open_line(conf, key, batch, again) end
  make_ready(conf, batch.by_lane)
  if #batch.freed > 0 then emit(conf, 'task.unblocked', table.concat(batch.freed, ' '), '') end
end
