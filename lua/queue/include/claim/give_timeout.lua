-- give_timeout(ctx, leased): add the queue's timeout to the record of each lease whose task has no own timeout.
local function give_timeout(ctx, leased)
  for _, lease in ipairs(leased) do
    local record, own = lease[8], false
    for f = 1, #record, 2 do own = own or record[f] == 'timeout_ms' end
    if not own then
      record[#record + 1] = 'timeout_ms'
      record[#record + 1] = string.format('%.0f', ctx.settings.timeout_ms)
    end
  end
end
