-- takes_plain_tasks(ctx): whether a script of another noun may add tasks here, which know no partitions.
local function takes_plain_tasks(ctx)
  return ctx.settings.mode ~= 'draining' and not ctx.settings.partitions and ctx.settings.epoch == 0
end
