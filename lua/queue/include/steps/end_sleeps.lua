-- end_sleeps(ctx, id): end all sleeps of a task now. A person has made the task due at once.
local function end_sleeps(ctx, id)
  local names, parts = steps_in_order(id)
  for i, name in ipairs(names) do
    local one = parts[i]
    if one.kind == 'sleep' and tonumber(one.value) > ctx.now then
      redis.call('HSET', steps .. id, name,
        string.format('%d %s %.0f %.0f\n', one.place, one.kind, one.at_ms, one.fence) .. ctx.now_text)
    end
  end
end
