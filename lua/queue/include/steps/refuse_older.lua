-- refuse_older(ctx): the error if this queue may not have steps yet: scripts of layout 1 know nothing of them, and may use
-- the queue.
local function refuse_older(ctx)
  if ctx.settings.layout < 2 then
    return redis.error_reply('ADEQ_LAYOUT this queue has layout ' .. ctx.settings.layout .. ', and steps need 2: when all'
      .. ' clients are of this release, run `adeq scripts migrate`')
  end
end
