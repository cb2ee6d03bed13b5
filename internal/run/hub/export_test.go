package hub

// NewCertificate is for tests that speak to the port by hand.
var NewCertificate = newCertificate

// SetMaxPush makes pushes smaller, for tests.
func (x *Exchange) SetMaxPush(n int64) { x.most = n }
