-- record_led(ctx, own, one, from): note that delegations have led a request from this reviewer to the one that it has now.
local function record_led(ctx, own, one, from)
  record_step(ctx, own, 'change.delegated', 'delegation', 'slot=' .. one.slot .. ' from=' .. from .. ' to=' .. one.reviewer
    .. ' chain=' .. string.gsub(string.sub(one.chain, 2), '>', ','), '')
end
