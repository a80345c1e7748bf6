package frame
import ("testing";"os";"strings";"fmt")
func TestDbg(t *testing.T){ for _,s:=range strings.Split(os.Getenv("S"),"|"){ for _,x:=range tokenize(s){fmt.Print(x.low,"/",x.stem," ")}; fmt.Println(); fmt.Print(describe("",s)) } }
