-- refuse_epoch(ctx): the error for a call that does not know the queue's current partitions.
local function refuse_epoch(ctx)
  return redis.error_reply('ADEQ_EPOCH epoch is ' .. string.format('%.0f', ctx.settings.epoch)
    .. ' here: the queue has other partitions now; read which, and send the call to the right one')
end
