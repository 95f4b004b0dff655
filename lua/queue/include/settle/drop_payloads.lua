-- drop_payloads(ctx, ids): delete the payloads of completed tasks, at once or after payload_ms.
-- LATE
local function drop_payloads(ctx, ids)
  local keys = {}
  for i, id in ipairs(ids) do keys[i] = payload .. id end
  if ctx.settings.payload_ms == 0 then
    redis.call('DEL', unpack(keys))  -- at most 1,000: items
  else
    local text = string.format('%.0f', ctx.settings.payload_ms)
    for _, key in ipairs(keys) do redis.call('PEXPIRE', key, text) end
  end
end
