-- recall_hit(at_ms): the answer to a hit with this rid in the last minute, or nil. The texts of other calls have another form.
local function recall_hit(at_ms)
  local verb, text = recall(at_ms)
  if verb == 'returned' then return { verb, at_ms } end
  local status, retry_ms, list = string.match(text or '', '^(%l+);(%d+);(.*)$')
  if not status then return nil end
  local items = {}
  for word, left, retry, reset, limit, period, on_error in string.gmatch(list, '(%l+),(%d+),(%d+),(%d+),(%d+),(%d+),(%l+)') do
    items[#items + 1] = { word, tonumber(left), tonumber(retry), tonumber(reset), tonumber(limit), tonumber(period), on_error }
  end
  if status == 'refused' then return { status, at_ms, tonumber(retry_ms), items } end
  return { status, at_ms, items }
end
