-- end_sleeps(ctx, id): end all sleeps of a task now. A person has made the task due at once.
local function end_sleeps(ctx, id)
  for _, step in ipairs(steps_in_order(id)) do
    if step.kind == 'sleep' and tonumber(step.value) > ctx.now then
      step.value = ctx.now_text
      redis.call('HSET', steps .. id, step.name, step_entry(step))
    end
  end
end
